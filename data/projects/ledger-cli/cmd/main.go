// Command ledger books and checks the invoices of carriers.
package main

import "fmt"

func main() {
	fmt.Println("usage: ledger check FILE | ledger post FILE")
}
