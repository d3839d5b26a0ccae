package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"jianguo/api/tokens"
	"jianguo/internal/must"
)

// access holds tokens, trusted proxies and certificates.
type access struct {
	tokens  *tokens.Set    // nil: everything is open
	proxies []netip.Prefix // may name an editor in a header
	certs   *certificates  // nil: no TLS
	hangup  chan os.Signal
}

// readAccess reads tokens and certificates. From then on SIGHUP does not end the process. It panics on errors (must).
func (f *serveFlags) readAccess() access {
	a := access{hangup: make(chan os.Signal, 1), proxies: networks(f.EditorProxy)}
	signal.Notify(a.hangup, syscall.SIGHUP)
	a.certs = must.Get(openCertificates(f.TLSCert, f.TLSKey, f.TLSClientCA))
	if f.Tokens != "" {
		a.tokens = must.Get(tokens.Open(f.Tokens, f.TokenRate))
	}
	return a
}

// reload reads tokens and certificates again. After an error the former ones stay. It panics on errors (must).
func (a *access) reload(s *service) {
	if a.certs != nil {
		a.certs.load()
		must.Do(s.announce())
	}
	if a.tokens != nil {
		must.Do(s.bus.Disconnect(must.Get(a.tokens.Reload())))
	}
}

// onHangup reloads tokens and certificates at each SIGHUP, until ctx is done. No
// connection ends but those of tokens that were removed.
func (a *access) onHangup(ctx context.Context, s *service) {
	defer signal.Stop(a.hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.hangup:
		}
		if err := must.Catch(func() { a.reload(s) }); err != nil {
			s.log.Error("SIGHUP: tokens and certificates stay as they were", "error", err)
			continue
		}
		s.log.Warn("SIGHUP: tokens and certificates were read again", "tokens", a.tokens.Len())
	}
}

// networks reads addresses and networks. It panics on errors (must).
func networks(list []string) (out []netip.Prefix) {
	for _, text := range list {
		prefix, err := netip.ParsePrefix(text)
		if addr, aerr := netip.ParseAddr(text); aerr == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			must.Do(fmt.Errorf("--editor-proxy %q: want an address or a network, as 10.1.2.0/24", text))
		}
		out = append(out, prefix)
	}
	return out
}
