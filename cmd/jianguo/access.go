package main

import (
	"fmt"
	"net/netip"
	"os"

	"jianguo/api"
)

// access holds tokens and trusted proxies.
type access struct {
	tokens  api.Tokens
	proxies []netip.Prefix // may name an editor in a header
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
