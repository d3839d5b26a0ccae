package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

// certificates are those of HTTP and of the embedded bus.
type certificates struct {
	cert, key, clientCA string // files; clientCA may be empty
	current             atomic.Pointer[tls.Config]
}

func openCertificates(cert, key, clientCA string) (*certificates, error) {
	if cert == "" && key == "" && clientCA == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, errors.New("--tls-cert, --tls-key: TLS needs both a certificate and its key")
	}
	c := &certificates{cert: cert, key: key, clientCA: clientCA}
	return c, must.Catch(c.load)
}

// load reads the files. It panics on errors (must).
func (c *certificates) load() {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	must.Dof(err, "--tls-cert %s, --tls-key %s", c.cert, c.key)
	next := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}}
	if c.clientCA != "" {
		pem, err := os.ReadFile(c.clientCA)
		must.Dof(err, "--tls-client-ca")
		next.ClientCAs, next.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !next.ClientCAs.AppendCertsFromPEM(pem) {
			must.Do(fmt.Errorf("--tls-client-ca %s: it holds no certificate in PEM", c.clientCA))
		}
	}
	c.current.Store(next)
}

// config is for servers; a connection begins with what the files last held. Commands on
// this machine have no certificate, and are let in by the secret of the lock file.
func (c *certificates) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config,
		error) {
		now := c.current.Load()
		if now.ClientCAs != nil && ofThisMachine(hello.Conn) {
			now = now.Clone()
			now.ClientAuth = tls.VerifyClientCertIfGiven
		}
		return now, nil
	}}
}

// ofThisMachine reports whether a connection comes from this machine: from loopback, or from the
// address that it goes to.
func ofThisMachine(conn net.Conn) bool {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	to, _ := netip.ParseAddrPort(conn.LocalAddr().String()) // invalid: equal to no address
	return err == nil && (from.Addr().Unmap().IsLoopback() || from.Addr() == to.Addr())
}

// pin is the hash of the certificate, by which commands on this machine know it; empty: no
// TLS.
func (c *certificates) pin() string {
	if c == nil {
		return ""
	}
	return datadir.PinOf(c.current.Load().Certificates[0].Certificate[0])
}
