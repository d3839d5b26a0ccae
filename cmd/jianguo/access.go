package main

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/labstack/echo/v4"

	"jianguo/api"
	"jianguo/api/console"
)

// access holds tokens and trusted proxies.
type access struct {
	tokens  api.Tokens
	proxies []netip.Prefix // may name an editor in a header
}

// openAccess reads tokens and proxies. Without tokens it refuses addresses beyond
// loopback, unless --insecure allows them.
func (f *serveFlags) openAccess(_ *streams, s *service) (err error) {
	if f.Tokens != "" {
		if s.access.tokens, err = readTokens(f.Tokens); err != nil {
			return err
		}
	}
	if s.access.proxies, err = networks(f.EditorProxy); err != nil {
		return err
	}
	tokens := s.access.tokens.Len() > 0
	if err := api.CheckListen(f.Listen, tokens, f.Insecure); err != nil {
		return err
	}
	if f.NATS == "" && f.NATSListen != "" {
		if err := api.CheckListen(f.NATSListen, tokens, f.Insecure); err != nil {
			return fmt.Errorf("bus: %w", err)
		}
	}
	return nil
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

func readTokens(name string) (api.Tokens, error) {
	file, err := os.Open(name)
	if err != nil {
		return api.Tokens{}, err
	}
	defer file.Close()
	tokens, err := api.ReadTokens(file)
	if err != nil {
		return tokens, fmt.Errorf("%s: %w", name, err)
	}
	return tokens, nil
}

// console returns a function that adds the editors' pages to the server.
func (f *serveFlags) console(s *service, co *streams) func(*echo.Echo, echo.MiddlewareFunc, <-chan struct{}) error {
	cfg := console.Config{Index: s.core.index, Browse: s.browse, Segmenter: s.core.segmenter, Ingest: s.core.ingest, Conn: s.core.conn,
		Dir: s.dir, Logger: co.log, Version: version, Header: f.EditorHeader, RoleHeader: f.EditorRole, Proxies: s.access.proxies}
	if s.access.tokens.Len() > 0 {
		cfg.Authenticate = s.access.tokens.Authenticate
	}
	return func(e *echo.Echo, bound echo.MiddlewareFunc, done <-chan struct{}) error {
		cfg.Done, cfg.Middleware = done, []echo.MiddlewareFunc{bound}
		return console.Register(e, cfg)
	}
}
