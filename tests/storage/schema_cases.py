"""Changes of valid rows that each constraint must refuse, and those that only look like it."""

from __future__ import annotations

#: Constraint -> a change of a valid row that it must refuse. A check is `table.name`, what is
#: unique is `table(columns)`, a foreign key `table.column -> table`.
REFUSED = {
    "owner.one": "UPDATE owner SET one = 2",
    "leases.holder_is_not_empty": "UPDATE leases SET holder = ''",
    "leases.epoch_is_at_least_1": "UPDATE leases SET epoch = 0",
    "projects.active_is_yes_or_no": "UPDATE projects SET active = 2",
    "projects.resolves_is_yes_or_no": "UPDATE projects SET resolves = 'claude'",
    "projects(root)": "UPDATE projects SET root = '/atlas'",
    "runs.state_is_known": "UPDATE runs SET state = 'running'",
    "runs.dry_run_is_yes_or_no": "UPDATE runs SET dry_run = -1",
    "insights.id_is_of_the_content": "UPDATE insights SET id = 'ins_' || status",
    "insights.content_hash_is_a_digest": "UPDATE insights"
    " SET content_hash = substr(content_hash, 1, 63) || 'G'",
    "insights.category_is_known": "UPDATE insights SET category = 'opinion'",
    "insights.confidence_is_a_share": "UPDATE insights SET confidence = 1.01",
    "insights.status_is_known": "UPDATE insights SET status = 'deleted'",
    "insights.first_is_not_after_last": "UPDATE insights SET first_seen_at = 3",
    "insights.text_hash_is_a_digest": "UPDATE insights SET text_hash = x'00'",
    "insights.superseded_has_a_successor": "UPDATE insights SET status = 'superseded'",
    "insights.superseded_by_another": "UPDATE insights SET superseded_by = id"
    " WHERE status = 'superseded'",
    "insights(content_hash)": "INSERT INTO insights SELECT * FROM insights",
    "insights.superseded_by -> insights": "UPDATE insights SET superseded_by = 'ins_0'"
    " WHERE status = 'superseded'",
    "insight_sources.ordinal_is_at_least_0": "UPDATE insight_sources SET ordinal = -1",
    "insight_sources.line_start_is_at_least_1": "UPDATE insight_sources SET line_start = 0",
    "insight_sources.start_is_not_behind_end": "UPDATE insight_sources SET line_start = 3",
    "insight_sources(fragment_id, ordinal)": "UPDATE insight_sources SET ordinal = 1",
    "insight_sources.insight_id -> insights": "UPDATE insight_sources SET insight_id = 'ins_0'",
    "insight_sources.project_id -> projects": "UPDATE insight_sources SET project_id = 'prj_0'",
    "observations.source_id -> insight_sources": "UPDATE observations SET source_id = 9",
    "contradictions.lesser_comes_first": "UPDATE contradictions"
    " SET insight_a = insight_b, insight_b = insight_a",
    "contradictions.type_is_known": "UPDATE contradictions SET type = 'vague'",
    "contradictions.similarity_is_a_cosine": "UPDATE contradictions SET similarity = -1.1",
    "contradictions.decided_by_is_known": "UPDATE contradictions SET decided_by = 'dice'",
    "contradictions.reason_is_not_empty": "UPDATE contradictions SET reason = ''",
    "contradictions.status_is_known": "UPDATE contradictions SET status = 'ended', resolved_at = 1",
    "contradictions.settled_at_some_time": "UPDATE contradictions SET status = 'dismissed'",
    "contradictions.kept_is_one_of_the_two": "UPDATE contradictions"
    " SET status = 'resolved', resolved_at = 1, kept_id = (SELECT max(id) FROM insights)",
    "contradictions(insight_a, insight_b)": "INSERT INTO contradictions (id, insight_a, insight_b,"
    " type, detected_by, decided_by, reason, detected_at) SELECT 'ctr_2', insight_a, insight_b,"
    " 'partial', detected_by, decided_by, reason, 2 FROM contradictions",
    "contradictions.insight_a -> insights": "UPDATE contradictions SET insight_a = 'ins_0'",
    "contradictions.insight_b -> insights": "UPDATE contradictions SET insight_b = 'ins_z'",
    "contradictions.kept_id -> insights": "UPDATE contradictions SET status = 'resolved',"
    " resolved_at = 1, insight_a = 'ins_0', kept_id = 'ins_0'",
    "clusters.coherence_is_a_cosine": "UPDATE clusters SET coherence = 1.5",
    "clusters.medoid_id -> insights": "UPDATE clusters SET medoid_id = 'ins_0'",
    "cluster_insights.insight_id -> insights": "UPDATE cluster_insights SET insight_id = 'ins_0'",
    "cluster_insights.cluster_id -> clusters": "UPDATE cluster_insights SET cluster_id = 'clu_0'",
    "principles.id_is_of_the_content": "UPDATE principles SET id = 'ins_' || substr(id, 5)",
    "principles.content_hash_is_a_digest": "UPDATE principles"
    " SET content_hash = substr(content_hash, 1, 20)",
    "principles.category_is_known": "UPDATE principles SET category = 'fact'",
    "principles.confidence_is_a_share": "UPDATE principles SET confidence = -0.1",
    "principles.quality_is_a_share": "UPDATE principles SET quality = 2",
    "principles.rank_is_a_share": "UPDATE principles SET rank = 1.1",
    "principles.status_is_known": "UPDATE principles SET status = 'withdrawn'",
    "principles(content_hash)": "INSERT INTO principles SELECT * FROM principles",
    "derivations.weight_is_a_share": "UPDATE derivations SET weight = 1.1",
    "derivations.principle_id -> principles": "UPDATE derivations SET principle_id = 'pri_0'",
    "derivations.insight_id -> insights": "UPDATE derivations SET insight_id = 'ins_0'",
    "principle_links.type_is_known": "UPDATE principle_links SET type = 'likes'",
    "principle_links.lesser_is_the_source": "UPDATE principle_links"
    " SET source_id = target_id, target_id = source_id",
    "principle_links.strength_is_a_share": "UPDATE principle_links SET strength = -0.5",
    "principle_links.decided_by_is_known": "UPDATE principle_links SET decided_by = ''",
    "principle_links.reason_is_not_empty": "UPDATE principle_links SET reason = ''",
    "principle_links.source_id -> principles": "UPDATE principle_links SET source_id = 'pri_0'",
    "principle_links.target_id -> principles": "UPDATE principle_links SET target_id = 'pri_z'",
    "file_states.size_is_at_least_0": "UPDATE file_states SET size = -1",
    "file_states.project_id -> projects": "UPDATE file_states SET project_id = 'prj_0'",
    "file_writes.state_is_known": "UPDATE file_writes SET state = 'lost', ended_at = 1",
    "file_writes.before_has_its_hash": "UPDATE file_writes SET before_bytes = NULL",
    "file_writes.what_ended_is_not_pending": "UPDATE file_writes SET state = 'done'",
    "file_writes(path)": "INSERT INTO file_writes (run_id, project_id, path, agent, after_sha256,"
    " aside, began_at) SELECT 'run_2', project_id, path, agent, 'c', aside, 2 FROM file_writes",
    "file_writes.project_id -> projects": "UPDATE file_writes SET project_id = 'prj_0'",
    "events.id_is_of_the_moment": "UPDATE events SET id = 'evt_1' WHERE seq = 1",
    "events.idempotency_key_is_not_empty": "UPDATE events SET idempotency_key = ''",
    "events(id)": "UPDATE events SET id = (SELECT min(id) FROM events)",
    "events(idempotency_key)": "UPDATE events SET idempotency_key = 'key-0'",
    "deliveries.attempts_is_at_least_0": "UPDATE deliveries SET attempts = -1",
    "deliveries.due_at_is_at_least_0": "UPDATE deliveries SET due_at = -1",
    "deliveries.seq -> events": "UPDATE deliveries SET seq = 9",
    "dead_letters.attempts_is_at_least_1": "UPDATE dead_letters SET attempts = 0",
    "dead_letters.seq -> events": "UPDATE dead_letters SET seq = 9",
    "agents.id_is_a_name": "UPDATE agents SET id = 'vajra' WHERE id = 'VAJRA'",
    "agents.display_name_is_not_empty": "UPDATE agents SET display_name = ''",
    "agents.symbol_is_not_empty": "UPDATE agents SET symbol = ''",
    "agents.color_is_hexadecimal": "UPDATE agents SET color = '#gold00'",
    "crumbs.id_is_of_the_moment": "UPDATE crumbs SET id = 'crumb_1'",
    "crumbs.session_id_is_not_empty": "UPDATE crumbs SET session_id = ''",
    "crumbs.type_is_known": "UPDATE crumbs SET type = 'forward'",
    "crumbs.priority_is_known": "UPDATE crumbs SET priority = 'BOGUS'",
    "crumbs.summary_is_not_empty": "UPDATE crumbs SET summary = ''",
    "crumbs.agent_id -> agents": "UPDATE crumbs SET agent_id = 'NOBODY'",
    "memories.id_is_of_the_moment": "UPDATE memories SET id = 'mem_1'",
    "memories.realm_is_known": "UPDATE memories SET realm = 'public'",
    "memories.layer_is_known": "UPDATE memories SET layer = 'longterm'",
    "memories.type_is_known": "UPDATE memories SET type = 'rumour'",
    "memories.text_is_not_empty": "UPDATE memories SET text = ''",
    "memories.text_hash_is_a_digest": "UPDATE memories SET text_hash = x'00'",
    "memories.status_is_known": "UPDATE memories SET status = 'deleted' WHERE status = 'active'",
    "memories.merged_has_a_whole": "UPDATE memories SET status = 'merged'",
    "memories.merge_says_how": "UPDATE memories SET merged_at = NULL WHERE status = 'merged'",
    "memories.merged_into_another": "UPDATE memories SET merged_into = id WHERE status = 'merged'",
    "memories.merged_as_is_at_least_0": "UPDATE memories SET merged_as = -1"
    " WHERE status = 'merged'",
    "memories.merged_by_is_known": "UPDATE memories SET merged_by = 'dice' WHERE status = 'merged'",
    "memories(merged_into, merged_as)": "UPDATE memories SET merged_as = 1 WHERE status = 'merged'",
    "memories(realm, agent_id, thread, text_hash)": "UPDATE memories SET text_hash = zeroblob(32)",
    "memories.agent_id -> agents": "UPDATE memories SET agent_id = 'NOBODY'",
    "memories.merged_into -> memories": "UPDATE memories SET merged_into = 'mem_0'"
    " WHERE status = 'merged'",
    "memory_tags.tag_is_not_empty": "UPDATE memory_tags SET tag = ''",
    "memory_tags.memory_id -> memories": "UPDATE memory_tags SET memory_id = 'mem_0'",
    "memory_agents.memory_id -> memories": "UPDATE memory_agents SET memory_id = 'mem_0'",
    "memory_agents.agent_id -> agents": "UPDATE memory_agents SET agent_id = 'NOBODY'",
    "memory_replies.replies_to_another": "UPDATE memory_replies SET replied_id = memory_id",
    "memory_replies.memory_id -> memories": "UPDATE memory_replies SET memory_id = 'mem_0'",
    "memory_replies.replied_id -> memories": "UPDATE memory_replies SET replied_id = 'mem_0'",
    "memory_attention.access_count_is_at_least_0": "UPDATE memory_attention SET access_count = -1",
    "memory_attention.attention_is_in_range": "UPDATE memory_attention SET attention = 2.1",
    "memory_attention.memory_id -> memories": "UPDATE memory_attention SET memory_id = 'mem_0'",
    "knowledge_chunks.id_is_of_knowledge": "UPDATE knowledge_chunks SET id = 'mem_' || ordinal",
    "knowledge_chunks.ordinal_is_at_least_0": "UPDATE knowledge_chunks SET ordinal = -1",
    "knowledge_chunks.text_is_not_empty": "UPDATE knowledge_chunks SET text = ''",
    "knowledge_chunks.is_code_is_yes_or_no": "UPDATE knowledge_chunks SET is_code = 'python'",
    "knowledge_chunks.only_code_has_a_language": "UPDATE knowledge_chunks"
    " SET code_language = 'python'",
    "knowledge_chunks.text_hash_is_a_digest": "UPDATE knowledge_chunks SET text_hash = x'00'",
    "knowledge_chunks.status_is_known": "UPDATE knowledge_chunks SET status = 'merged'",
    "knowledge_chunks(source, ordinal)": "UPDATE knowledge_chunks SET ordinal = 1",
    "embedding_models.dimension_is_at_least_1": "UPDATE embedding_models SET dimension = 0",
    "embedding_models.state_is_known": "UPDATE embedding_models SET state = 'loved'",
    "embedding_models(state)": "UPDATE embedding_models SET state = 'active'",
    "passages.collection_is_not_empty": "UPDATE passages SET collection = ''",
    "passages.item_id_is_not_empty": "UPDATE passages SET item_id = ''",
    "passages.place_is_known": "UPDATE passages SET place = 'beside'",
    "passages.text_hash_is_a_digest": "UPDATE passages SET text_hash = 'use ruff'",
    "passages(item_id, collection, place)": "UPDATE passages SET place = 'paired'",
    "vectors(model, text_hash)": "UPDATE vectors SET text_hash = zeroblob(32)",
    "index_ops.op": "UPDATE index_ops SET op = 'eat'",
    "index_state.one": "UPDATE index_state SET one = 0",
}

#: What looks alike and is allowed.
ALLOWED = {
    "the same dialogue again": "UPDATE memories SET type = 'dialogue', text_hash = zeroblob(32)",
    "the same fact of another agent": "UPDATE memories SET text_hash = zeroblob(32),"
    " agent_id = iif(id GLOB '*1', 'VAJRA', 'CLAUDE')",
    "the same fact in another realm": "UPDATE memories SET text_hash = zeroblob(32),"
    " realm = iif(id GLOB '*1', 'village', 'private')",
    "the same fact in another thread": "UPDATE memories SET text_hash = zeroblob(32), thread = id",
    "a fact once more, after the first was archived": "UPDATE memories SET"
    " text_hash = zeroblob(32), status = 'archived' WHERE status = 'active'",
    "what depends on a lesser id": "UPDATE principle_links"
    " SET type = 'depends_on', source_id = target_id, target_id = source_id",
    "a pair that is linked twice, in two ways": "INSERT INTO principle_links SELECT source_id,"
    " target_id, 'reinforces', strength, decided_by, reason, linked_at FROM principle_links",
    "events without a key": "UPDATE events SET idempotency_key = NULL",
    "a second write when the first has ended": "UPDATE file_writes"
    " SET state = 'done', ended_at = 2",
    "a piece in the place of one that is withdrawn": "UPDATE knowledge_chunks"
    " SET ordinal = 0, status = iif(id = 'kb_0', 'active', 'withdrawn')",
    "one id in two collections": "INSERT INTO passages"
    " (collection, item_id, place, text, text_hash)"
    " SELECT 'cortex_village', item_id, place, text, text_hash FROM passages",
    "a text that two items have": "UPDATE passages SET text_hash = zeroblob(32)",
    "one text's vectors of two models": "UPDATE vectors SET model = seq, text_hash = zeroblob(32)",
    "any number of retired models": "UPDATE embedding_models SET state = 'retired'",
    "a contradiction settled in favour of one": "UPDATE contradictions"
    " SET status = 'resolved', resolved_at = 1, kept_id = insight_b",
    "a contradiction found without vectors": "UPDATE contradictions SET similarity = NULL",
}
