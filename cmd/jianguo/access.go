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

// accessFlags say who may use a service.
type accessFlags struct {
	Tokens       string   `help:"File of tokens (jianguo token); read again at SIGHUP." type:"existingfile" placeholder:"FILE"`
	TokenRate    float64  `help:"Requests a second that one token may make over HTTP; 0: no bound." default:"0"`
	TLSCert      string   `name:"tls-cert" help:"Certificate of HTTP and of the embedded bus, in PEM; read again at SIGHUP." type:"existingfile" placeholder:"FILE"`
	TLSKey       string   `name:"tls-key" help:"Its key." type:"existingfile" placeholder:"FILE"`
	TLSClientCA  string   `name:"tls-client-ca" help:"Let clients of other machines in only with a certificate of this authority." type:"existingfile" placeholder:"FILE"`
	EditorHeader string   `help:"Header in which a trusted proxy names the editor who is signed in." placeholder:"NAME"`
	EditorRole   string   `name:"editor-role-header" help:"Header in which it says their role: editor or operator; without it they are editors." placeholder:"NAME"`
	EditorProxy  []string `name:"editor-proxy" help:"Address or network of that proxy, as 10.1.2.0/24; none: loopback." placeholder:"NETWORK"`
}

// access holds tokens, trusted proxies and certificates.
type access struct {
	tokens  *tokens.Set    // nil: everything is open
	proxies []netip.Prefix // may name an editor in a header
	certs   *certificates  // nil: no TLS
	hangup  chan os.Signal
}

// read reads tokens and certificates. From then on SIGHUP does not end the process.
func (f *accessFlags) read(log *slog.Logger) (a access, err error) {
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
func (a *access) reload(c *core) error {
	if a.certs != nil {
		if err := a.certs.load(); err != nil {
			return err
		}
		if err := c.announce(); err != nil {
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
	a.warnOfPlain(c.log)
	return c.bus.Disconnect(gone)
}

// onHangup reloads tokens and certificates at each SIGHUP, until ctx is done. No
// connection ends but those of tokens that were removed.
func (a *access) onHangup(ctx context.Context, c *core) {
	defer signal.Stop(a.hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.hangup:
		}
		if err := a.reload(c); err != nil {
			c.log.Error("SIGHUP: tokens and certificates stay as they were", "error", err)
			continue
		}
		c.log.Warn("SIGHUP: tokens and certificates were read again", "tokens", a.tokens.Len())
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
