// Package powercut shows tests what a disk keeps of a directory when the power
// goes: each file as it was when last synced, and nothing written since. It
// runs a command under a seccomp filter that tells of every fsync, rename and
// removal before it happens (Linux on amd64), so that the real binary is tried,
// with all of its libraries.
//
// Names are taken to be durable at once, contents never are. What is written to
// a file that was opened with O_SYNC is durable as it is written.
package powercut
