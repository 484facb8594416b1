%% The oracle: plays scenarios on Erlang/OTP's own supervisor and writes down what happens.
%%
%% Started as `erl -noshell +S 1 -s oracle main -extra FILE WIDTH`: FILE holds one scenario a term
%% (tests/oracle/scenario.py makes them), WIDTH says how many are played at a time, which costs
%% nothing while they wait. The trace goes to standard output, scenarios in the order of their end:
%%
%%     S 17                          the scenario's number
%%     > {exit,a,boom}               a step
%%     + a 1                         the process `a` runs, for the first time
%%     - a 1 boom                    it has ended, and why
%%     ~ a fail                      its start was made to fail (or to be ignored)
%%     = ok pid                      what a call answered
%%     @ top b=1/s a=2 # 2 2 1 1     which_children, newest first, and count_children, if changed
%%
%% A step is over when every supervisor of the tree answers twice with the same children, none of
%% them is being restarted, and no other process is left. There are no random sleeps, so a trace is
%% the same each time; one scheduler (`+S 1`) keeps exit signals in the order they were caused.
%%
%% Each scenario has a witness, a process that every child reports to before it runs and that
%% monitors it from then on. It also holds the plan: which starts are to fail.

-module(oracle).
-behaviour(gen_server).

-export([main/0, start_leaf/2, start_branch/4]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

%% Milliseconds between two looks at the tree.
-define(BLINK, 1).

%% Looks at the tree before a scenario is given up: several times the longest sensible step.
-define(LOOKS, 10000).

%%% All scenarios, some at a time.

main() ->
    logger:set_primary_config(level, none),
    [File, Width] = init:get_plain_arguments(),
    {ok, Scenarios} = file:consult(File),
    {Now, Later} = lists:split(min(list_to_integer(Width), length(Scenarios)), Scenarios),
    [begin_scenario(Scenario) || Scenario <- Now],
    collect(length(Now), Later),
    halt().

collect(0, []) ->
    ok;
collect(Running, Later) ->
    receive
        {trace, Number, Lines} ->
            io:put_chars(["S ", integer_to_list(Number), $\n, [[Line, $\n] || Line <- Lines]]),
            case Later of
                [Next | Rest] -> begin_scenario(Next), collect(Running, Rest);
                [] -> collect(Running - 1, [])
            end
    end.

begin_scenario({Number, Order, Flags, Children, Plans, Steps}) ->
    Main = self(),
    spawn(fun() ->
        process_flag(trap_exit, true),
        Witness = spawn_link(fun() -> witness(new_record(Order)) end),
        put(lines, []),
        try
            play(Witness, {Flags, Children}, Plans, Steps)
        catch
            Class:Reason -> line("failed ~0p", [{Class, Reason}])
        end,
        unlink(Witness),
        exit(Witness, kill),
        Main ! {trace, Number, lists:reverse(get(lines))}
    end).

play(Witness, {Flags, Children}, Plans, Steps) ->
    [ask(Witness, {plan, Id, Mode, Times}) || {Mode, Id, Times} <- Plans],
    case start_branch(Witness, top, Flags, Children) of
        {ok, Top} ->
            report(Witness, Top),
            [step(Step, Witness, Top) || Step <- Steps, is_process_alive(Top)],
            case is_process_alive(Top) of
                true -> exit(Top, shutdown), report(Witness, Top);
                false -> ok
            end;
        {error, Reason} ->
            line("= error ~s", [text(Reason)]),
            %% The answer may come before the last death. A supervisor kills a child brutally and
            %% waits for that child only (supervisor:shutdown/1); when the child is a supervisor
            %% itself, its own children end a little later, by the exit signal of their links. So
            %% this waits for the end of every process, too; no tree is left to look at.
            report(Witness, nothing)
    end.

step(Step, Witness, Top) ->
    line("> ~w", [Step]),
    act(Step, Witness),
    report(Witness, Top).

%%% What a step does.

act({Mode, Id, Times}, Witness) when Mode =:= fail; Mode =:= ignore ->
    ask(Witness, {plan, Id, Mode, Times});
act({slow, Id, Ms}, Witness) ->
    Branches = ask(Witness, branches),
    [gen_server:cast(Pid, {slow, Ms})
     || Pid <- latest(Witness, Id), not lists:member(Pid, Branches)];
act({wait, Ms}, _) ->
    timer:sleep(Ms);
act({exit, Id, Reason}, Witness) ->
    [await(Pid, fun() -> end_it(Pid, Reason) end) || Pid <- latest(Witness, Id)];
act({stop, Id}, Witness) ->
    [await(Pid, fun() -> catch gen_server:stop(Pid, shutdown, infinity) end)
     || Pid <- latest(Witness, Id)];
act({burst, Ids, Reason}, Witness) ->
    %% Several are gone before any supervisor sees the first of them.
    Pids = lists:append([latest(Witness, Id) || Id <- Ids]),
    Supervisors = [Pid || Pid <- ask(Witness, branches), erlang:suspend_process(Pid)],
    [await(Pid, fun() -> end_it(Pid, {now, Reason}) end) || Pid <- Pids],
    [erlang:resume_process(Pid) || Pid <- Supervisors];
act({hang, Of, Id, Step}, Witness) ->
    %% The step is taken while the supervisor tries in vain, again and again, to restart a child.
    case [Pid || Pid <- latest(Witness, Id), is_process_alive(Pid)] of
        [Pid] ->
            ask(Witness, {plan, Id, hang, infinity}),
            await(Pid, fun() -> end_it(Pid, boom) end),
            [picture(Witness, Level) || Sup <- supervisors(Witness, Of), Level <- children_of(Sup)],
            act(Step, Witness),
            ask(Witness, {plan, Id, hang, 0});
        [] ->
            line("= gone", [])
    end;
act({start_child, Of, {_, _, _, _, _, _} = Child}, Witness) ->
    call(Witness, Of, fun(Sup) -> supervisor:start_child(Sup, spec(Witness, Child)) end);
act({start_dynamic, Of, Id}, Witness) ->
    call(Witness, Of, fun(Sup) -> supervisor:start_child(Sup, [Id]) end);
act({by_pid, Of, Function, Id}, Witness) ->
    %% OTP takes any pid that does not live for a child that has ended, and answers with the spec of
    %% its template; we have no spec of what is not there.
    Dead = Function =:= terminate_child,
    case [Pid || Pid <- latest(Witness, Id), Dead orelse is_process_alive(Pid)] of
        [Pid] -> call(Witness, Of, fun(Sup) -> supervisor:Function(Sup, Pid) end);
        [] -> line("= gone", [])
    end;
act({Function, Of, Id}, Witness) ->
    call(Witness, Of, fun(Sup) -> supervisor:Function(Sup, Id) end).

end_it(Pid, kill) -> exit(Pid, kill);
end_it(Pid, {now, kill}) -> exit(Pid, kill);
end_it(Pid, Reason) -> gen_server:cast(Pid, {finish, Reason}).

await(Pid, Act) ->
    Ref = monitor(process, Pid),
    case is_process_alive(Pid) of
        true -> Act();
        false -> ok
    end,
    receive {'DOWN', Ref, _, _, _} -> ok end.

call(Witness, Of, Function) ->
    case supervisors(Witness, Of) of
        [Sup] -> answer(catch Function(Sup));
        [] -> line("= nobody", [])
    end.

supervisors(Witness, Id) ->
    Branches = ask(Witness, branches),
    [Pid || Pid <- latest(Witness, Id), lists:member(Pid, Branches)].

answer({ok, undefined}) -> line("= ok undefined", []);
answer({ok, Pid}) when is_pid(Pid) -> line("= ok pid", []);
answer({ok, #{restart := R, shutdown := S, type := T, significant := G}}) ->
    line("= ok ~w ~w ~w ~w", [R, S, T, G]);
answer(ok) -> line("= ok", []);
answer({error, Reason}) -> line("= error ~s", [text(Reason)]);
answer({'EXIT', {_, {gen_server, call, _}}}) -> line("= nobody", []);  % it has ended meanwhile
answer(Other) -> line("= ~0p", [Other]).

%%% The picture after a step.

report(Witness, Top) ->
    Tree = settle(Witness, Top, ?LOOKS, none),
    events(Witness),
    [picture(Witness, Level) || Level <- Tree].

settle(_, _, 0, _) ->
    line("unsettled", []),
    [];
settle(Witness, Top, Looks, Before) ->
    Tree = lists:flatten(look(Witness, Top)),
    Seen = lists:usort([Pid || {Sup, Lines, _} <- Tree, Pid <- [Sup | pids(Lines)]]),
    Quiet = Seen =:= lists:sort(ask(Witness, alive)),
    Restarting = [Id || {_, Lines, _} <- Tree, {Id, restarting, _, _} <- Lines],
    case Tree =:= Before andalso Quiet andalso Restarting =:= [] of
        true -> Tree;
        false -> timer:sleep(?BLINK), settle(Witness, Top, Looks - 1, Tree)
    end.

look(Witness, Sup) ->
    Branches = ask(Witness, branches),
    [[Level | [look(Witness, Pid) || Pid <- pids(Lines), lists:member(Pid, Branches)]]
     || {_, Lines, _} = Level <- children_of(Sup)].

children_of(Sup) ->
    try
        [{Sup, supervisor:which_children(Sup), supervisor:count_children(Sup)}]
    catch
        exit:_ -> []  % it has ended, and its parent may not know yet
    end.

pids(Lines) -> [Pid || {_, Pid, _, _} <- Lines, is_pid(Pid)].

picture(Witness, {Sup, Lines, Counts}) ->
    Words = [word(Witness, Line) || Line <- Lines],
    Ordered = case Lines of
        [{undefined, _, _, _} | _] -> lists:sort(Words);  % a template's children have no order
        _ -> Words
    end,
    Numbers = [proplists:get_value(Key, Counts) || Key <- [specs, active, supervisors, workers]],
    {Id, _} = ask(Witness, {name, Sup}),
    Values = [Id, [[Word, $\s] || Word <- Ordered] | Numbers],
    case get(Id) of
        Values -> unchanged;
        _ -> put(Id, Values), line("@ ~w ~s# ~w ~w ~w ~w", Values)
    end.

word(Witness, {Id, State, Type, _}) ->
    Mark = case Type of supervisor -> "/s"; worker -> "" end,
    Text = case is_pid(State) of
        true ->
            {Name, Generation} = ask(Witness, {name, State}),
            io_lib:format("~w=~w~s", [Name, Generation, Mark]);
        false ->
            io_lib:format("~w=~w~s", [Id, State, Mark])
    end,
    lists:flatten(Text).

events(Witness) -> [line("~s", [Event]) || Event <- ask(Witness, events)].

line(Format, Values) ->
    put(lines, [unicode:characters_to_binary(io_lib:format(Format, Values)) | get(lines)]).

text({shutdown, {failed_to_start_child, Id, Reason}}) ->
    io_lib:format("failed_to_start ~w ~s", [Id, text(Reason)]);
text({shutdown, Word}) when is_atom(Word) -> io_lib:format("shutdown:~w", [Word]);
text({start_spec, Reason}) -> ["start_spec ", text(Reason)];
text({already_started, Pid}) when is_pid(Pid) -> "already_started";
text({Word, _}) when Word =:= bad_combination; Word =:= duplicate_child_name ->
    atom_to_list(Word);
text({Reason, Child}) when is_tuple(Child), element(1, Child) =:= child -> text(Reason);
text(Word) when is_atom(Word) -> atom_to_list(Word);
text(Other) -> io_lib:format("~0p", [Other]).

%%% The witness.

new_record(Order) ->
    #{order => Order, alive => #{}, names => #{}, latest => #{}, counts => #{}, plans => #{},
      branches => [], log => []}.

ask(Witness, Question) ->
    Tag = make_ref(),
    Witness ! {self(), Tag, Question},
    receive {Tag, Answer} -> Answer end.

latest(Witness, Id) -> ask(Witness, {latest, Id}).

witness(Record) ->
    receive
        {'DOWN', Ref, process, Pid, Reason} ->
            witness(died(Ref, Pid, Reason, Record));
        {From, Tag, Question} ->
            {Answer, Next} = consider(Question, From, bury(Record)),
            From ! {Tag, Answer},
            witness(Next)
    end.

%% Note every death that has begun before the question is answered.
bury(Record) ->
    receive
        {'DOWN', Ref, process, Pid, Reason} -> bury(died(Ref, Pid, Reason, Record))
    after 0 ->
        Dead = [Ref || {Ref, Pid} <- maps:to_list(maps:get(alive, Record)),
                not is_process_alive(Pid)],
        await_deaths(Dead, Record)
    end.

%% Note deaths in their order until all of these are among them.
await_deaths([], Record) ->
    Record;
await_deaths(Dead, Record) ->
    receive
        {'DOWN', Ref, process, Pid, Reason} ->
            await_deaths(lists:delete(Ref, Dead), died(Ref, Pid, Reason, Record))
    end.

died(Ref, Pid, Reason, #{alive := Alive, names := Names, branches := Branches} = Record) ->
    {Id, Generation} = maps:get(Pid, Names),
    note("- ~w ~w ~s", [Id, Generation, text(Reason)],
         Record#{alive := maps:remove(Ref, Alive), branches := lists:delete(Pid, Branches)}).

note(Format, Values, #{log := Log} = Record) ->
    Record#{log := [lists:flatten(io_lib:format(Format, Values)) | Log]}.

consider({plan, Id, Mode, Times}, _, #{plans := Plans} = Record) ->
    {ok, Record#{plans := Plans#{Id => {Mode, Times}}}};
consider({may_start, Id}, _, #{plans := Plans} = Record) ->
    case Plans of
        #{Id := {hang, infinity}} ->
            {fail, Record};
        #{Id := {Mode, Times}} when Times > 0 ->
            Next = Record#{plans := Plans#{Id := {Mode, Times - 1}}},
            {Mode, note("~~ ~w ~w", [Id, Mode], Next)};
        #{} ->
            {yes, Record}
    end;
consider({started, Id, Kind}, Pid, Record) ->
    #{alive := Alive, names := Names, latest := Latest, counts := Counts,
      branches := Branches} = Record,
    Generation = maps:get(Id, Counts, 0) + 1,
    Next = Record#{
        alive := Alive#{monitor(process, Pid) => Pid},
        names := Names#{Pid => {Id, Generation}},
        latest := Latest#{Id => Pid},
        counts := Counts#{Id => Generation},
        branches := [Pid || Kind =:= branch] ++ Branches
    },
    {ok, note("+ ~w ~w", [Id, Generation], Next)};
consider({gone, Id}, _, #{latest := Latest, alive := Alive} = Record) ->
    %% A branch whose start failed answers just before it ends.
    Refs = [Ref || {Ref, Pid} <- maps:to_list(Alive), Pid =:= maps:get(Id, Latest)],
    {ok, await_deaths(Refs, Record)};
consider({latest, Id}, _, #{latest := Latest} = Record) ->
    {[Pid || {Name, Pid} <- maps:to_list(Latest), Name =:= Id], Record};
consider({name, Pid}, _, #{names := Names} = Record) ->
    {maps:get(Pid, Names), Record};
consider(alive, _, #{alive := Alive} = Record) ->
    {maps:values(Alive), Record};
consider(branches, _, #{branches := Branches} = Record) ->
    {Branches, Record};
consider(events, _, #{order := exact, log := Log} = Record) ->
    {lists:reverse(Log), Record#{log := []}};
consider(events, _, #{order := any, log := Log} = Record) ->
    {lists:sort(Log), Record#{log := []}}.

%%% The children: leaves (gen_server) and branches (supervisor).

spec(Witness, {template, Restart, Shutdown, Type, Significant, leaf}) ->
    #{id => template, start => {?MODULE, start_leaf, [Witness]}, restart => Restart,
      shutdown => Shutdown, type => Type, significant => Significant};
spec(Witness, {Id, Restart, Shutdown, Type, Significant, leaf}) ->
    #{id => Id, start => {?MODULE, start_leaf, [Witness, Id]}, restart => Restart,
      shutdown => Shutdown, type => Type, significant => Significant};
spec(Witness, {Id, Restart, Shutdown, Type, Significant, {Flags, Children}}) ->
    #{id => Id, start => {?MODULE, start_branch, [Witness, Id, Flags, Children]},
      restart => Restart, shutdown => Shutdown, type => Type, significant => Significant}.

start_leaf(Witness, Id) ->
    start(Witness, Id, fun() -> gen_server:start_link(?MODULE, {leaf, Witness, Id}, []) end).

start_branch(Witness, Id, Flags, Children) ->
    start(Witness, Id, fun() ->
        case supervisor:start_link(?MODULE, {branch, Witness, Id, Flags, Children}) of
            {ok, Pid} -> {ok, Pid};
            {error, Reason} -> ask(Witness, {gone, Id}), {error, Reason}
        end
    end).

start(Witness, Id, Begin) ->
    case ask(Witness, {may_start, Id}) of
        yes -> Begin();
        fail -> {error, nope};
        ignore -> ignore
    end.

init({branch, Witness, Id, {Strategy, Intensity, Period, AutoShutdown}, Children}) ->
    ask(Witness, {started, Id, branch}),
    Flags = #{strategy => Strategy, intensity => Intensity, period => Period,
              auto_shutdown => AutoShutdown},
    {ok, {Flags, [spec(Witness, Child) || Child <- Children]}};
init({leaf, Witness, Id}) ->
    process_flag(trap_exit, true),
    ask(Witness, {started, Id, leaf}),
    {ok, 0}.

handle_call(Request, _, Slow) -> {stop, {unexpected, Request}, Slow}.

handle_cast({slow, Ms}, _) -> {noreply, Ms};
handle_cast({finish, {now, Reason}}, _) -> {stop, Reason, 0};
handle_cast({finish, Reason}, Slow) -> {stop, Reason, Slow}.

handle_info(_, Slow) -> {noreply, Slow}.

terminate(_, 0) -> ok;
terminate(_, Slow) -> timer:sleep(Slow).
