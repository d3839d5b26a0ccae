// Package maintain has the commands that copy, verify, repair and reindex a data directory.
package maintain

import (
	"fmt"
	"os"
	"syscall"

	"jianguo/internal/companion"
)

// Main runs the command that the first argument names.
func Main(args []string) {
	syscall.Umask(0o077) // what is written is about users, and for this user only
	commands := map[string]struct {
		companion.Command
		about string
	}{
		"backup":  {new(backupCmd), "Copies a data directory, in use or not, into one that a service can start from."},
		"verify":  {new(verifyCmd), "Verifies a data directory, or lists its problems."},
		"reindex": {new(reindexCmd), "Computes old fingerprints again after a change of recipe: a new version, dictionary or residue list."},
		"repair":  {new(repairCmd), "Makes again what can be derived from the catalogue, and says what cannot."},
	}
	if len(args) == 0 || commands[args[0]].Command == nil {
		fmt.Fprintln(os.Stderr, "jianguo-admin: want backup, reindex, repair or verify")
		os.Exit(1)
	}
	c := commands[args[0]]
	companion.Main(args[1:], "jianguo "+args[0], c.about, c.Command)
}

// plural returns "1 item" or "2 items".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
