package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"jianguo/api/tokens"
)

// access holds tokens, trusted proxies and certificates.
type access struct {
	tokens  *tokens.Set    // nil: everything is open
	proxies []netip.Prefix // may name an editor in a header
	certs   *certificates  // nil: no TLS
	hangup  chan os.Signal
}

// readAccess reads tokens and certificates. From then on SIGHUP does not end the process.
func (f *serveFlags) readAccess(log *slog.Logger) (a access, err error) {
	a.hangup = make(chan os.Signal, 1)
	signal.Notify(a.hangup, syscall.SIGHUP)
	if a.proxies, err = networks(f.EditorProxy); err != nil {
		return a, err
	}
	if a.certs, err = openCertificates(f.TLSCert, f.TLSKey, f.TLSClientCA); err != nil {
		return a, err
	}
	if f.Tokens != "" {
		if a.tokens, err = tokens.Open(f.Tokens, f.TokenRate); err != nil {
			return a, err
		}
		a.warnOfPlain(log)
	}
	return a, nil
}

func (a *access) warnOfPlain(log *slog.Logger) {
	if names := a.tokens.Plain(); len(names) > 0 {
		log.Warn("the file of tokens holds tokens themselves: replace them by hashes (jianguo token add, jianguo token revoke)", "names", names)
	}
}

// reload reads tokens and certificates again. After an error the former ones stay.
func (a *access) reload(s *service) error {
	if a.certs != nil {
		if err := a.certs.load(); err != nil {
			return err
		}
		if err := s.core.announce(); err != nil {
			return err
		}
	}
	if a.tokens == nil {
		return nil
	}
	gone, err := a.tokens.Reload()
	if err != nil {
		return err
	}
	a.warnOfPlain(s.core.log)
	return s.core.bus.Disconnect(gone)
}

// onHangup reloads tokens and certificates at each SIGHUP, until ctx is done. No
// connection ends but those of tokens that were removed.
func (s *service) onHangup(ctx context.Context) {
	defer signal.Stop(s.access.hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.access.hangup:
		}
		if err := s.access.reload(s); err != nil {
			s.core.log.Error("SIGHUP: tokens and certificates stay as they were", "error", err)
			continue
		}
		s.core.log.Warn("SIGHUP: tokens and certificates were read again", "tokens", s.access.tokens.Len())
	}
}

// networks reads addresses and networks.
func networks(list []string) (out []netip.Prefix, err error) {
	for _, text := range list {
		prefix, err := netip.ParsePrefix(text)
		if addr, aerr := netip.ParseAddr(text); aerr == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("--editor-proxy %q: want an address or a network, as 10.1.2.0/24", text)
		}
		out = append(out, prefix)
	}
	return out, nil
}
