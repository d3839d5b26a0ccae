// Package maintain has the commands that copy, verify, repair and reindex a data directory.
package maintain

import (
	"syscall"

	"jianguo/internal/companion"
)

// Main runs the command that the first argument names.
func Main(args []string) {
	syscall.Umask(0o077) // what is written is about users, and for this user only
	companion.Commands{
		"backup":  {Command: new(backupCmd), About: "Copies a data directory, in use or not, into one that a service can start from."},
		"verify":  {Command: new(verifyCmd), About: "Verifies a data directory, or lists its problems."},
		"reindex": {Command: new(reindexCmd), About: "Computes old fingerprints again after a change of recipe: a new version, dictionary or residue list."},
		"restore": {Command: new(restoreCmd), About: "Makes a data directory of the backup that a bus holds."},
		"migrate": {Command: new(migrateCmd), About: "Moves users' histories from a data directory into the Redis of a fleet, or back."},
		"repair":  {Command: new(repairCmd), About: "Makes again what can be derived from the catalogue, and says what cannot."},
	}.Main(args)
}
