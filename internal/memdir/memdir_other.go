//go:build !linux

package memdir
