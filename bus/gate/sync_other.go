//go:build !linux

package gate

import "os"

func syncData(f *os.File) error { return f.Sync() }
