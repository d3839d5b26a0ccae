//go:build !race

package main

import (
	"fmt"
	"path/filepath"
	"testing"
)

// A Redis that speaks TLS, asks for a certificate and knows its users: a service reaches it with what the address names, and
// says what is wrong with another address, without the password.
func TestRedisTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	certificate(t, file("cert"), file("key"))
	certificate(t, file("other"), file("otherkey"))
	port := freePorts(t, 1)[0]
	startRedis(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file", file("cert"), "--tls-key-file", file("key"), "--tls-ca-cert-file", file("cert"),
		"--user", "default", "off", "--user", "jianguo", "on", ">se,cret", "~jianguo:*", "+@connection", "+@hash", "+@scripting", "+get", "+setnx", "+del", "+dump", "+pexpire", "+scan", "+info")
	bus := startBroker(t, nil).url()
	address := func(user, query string) string {
		return fmt.Sprintf("rediss://%s@127.0.0.1:%d?%s", user, port, query)
	}
	good := address("jianguo:se%2Ccret", "ca="+file("cert")+"&cert="+file("cert")+"&key="+file("key"))
	for _, c := range []struct{ address, sentence string }{
		{address("jianguo:se%2Ccret", ""), "certificate signed by unknown authority"},
		{address("jianguo:se%2Ccret", "ca="+file("other")), "certificate"},
		{address("jianguo:se%2Ccret", "ca="+file("nothing")), "no such file"},
		{address("jianguo:se%2Ccret", "ca="+file("key")), "holds no certificate"},
		{address("jianguo:se%2Ccret", "ca="+file("cert")), "connect to Redis"}, // it ends the connection of a client without a certificate
		{address("jianguo:wrong", "ca="+file("cert")+"&cert="+file("cert")+"&key="+file("key")), "WRONGPASS"},
		{fmt.Sprintf("redis://127.0.0.1:%d?ca=%s", port, file("cert")), "are for rediss://"},
	} {
		fails(t, plainBinary(t), c.sentence, "serve", "--data", file("none"), "--listen", "127.0.0.1:0", "--nats", bus, "--exposure-store", c.address)
	}
	s := serveReady(t, plainBinary(t), file("data"), "--nats", bus, "--exposure-store", good)
	s.held(seenBy(s, 6, "a"))
	s.jianguo("verify", "--exposure-store", good)
	s.stop()
}
