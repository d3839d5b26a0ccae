package jianguo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// decoders are the functions that read bytes from outside of the process, and the fuzz
// target of each.
var decoders = map[string]string{
	"api/tokens.parseHash":               "api/tokens.FuzzRead",
	"api.decodeDecision":                 "api.FuzzDecodeDecision",
	"exposure.decodeReport":              "exposure.FuzzDecodeReport",
	"exposure/state.ParsePolicy":         "exposure.FuzzParsePolicy",
	"exposure.decodeEvent":               "exposure/wire.FuzzDecode",
	"exposure.decodeRecord":              "exposure/state.FuzzDecodeHead",
	"exposure/redis.parseRecord":         "exposure/redis.FuzzParseRecord",
	"exposure/redis.parseVersion":        "exposure/redis.FuzzParseVersion",
	"exposure/state.DecodeHead":          "exposure/state.FuzzDecodeHead",
	"exposure/state.DecodeShard":         "exposure/state.FuzzDecodeShard",
	"exposure.parsePolicies":             "exposure.FuzzReadPolicies",
	"exposure/wire.decodeString":         "exposure/wire.FuzzDecode",
	"index/browse.decodeCursor":          "index/browse.FuzzDecodeCursor",
	"index/resident.DecodePosting":       "compare.FuzzDecodeSketch",
	"index/verdict.UnpackText":           "index/verdict.FuzzUnpackText",
	"ingest.DecodeDocument":              "ingest.FuzzDecodeItem",
	"ingest.DecodeItem":                  "ingest.FuzzDecodeItem",
	"ingest.DecodeWithdrawal":            "ingest.FuzzDecodeWithdrawal",
	"ingest.ParseID":                     "ingest.FuzzDecodeItem",
	"ingest.decodeEdit":                  "ingest.FuzzDecodeEdit",
	"ingest.decodePayload":               "ingest.FuzzDecodePayload",
	"ingest.decodeItem":                  "ingest.FuzzDecodeItem",
	"segment.parseGap":                   "segment.FuzzParsePattern",
	"segment.parsePattern":               "segment.FuzzParsePattern",
	"segment/cut.parse":                  "segment/cut.FuzzParse",
	"compare.DecodeSketch":               "compare.FuzzDecodeSketch",
	"index/bands/buckets.LoadPage":       "index/bands/buckets.FuzzLoadPage",
	"index/resident.(*Rows).LoadPage":    "index/resident.FuzzLoadColumns",
	"segment.(*Segmenter).Analyze: HTML": "segment.FuzzAnalyze",
}

var decoderName = regexp.MustCompile(`(?m)^func ((?:[dD]ecode|[pP]arse|[uU]npack|[uU]nmarshal)[A-Za-z]*)\(`)

// TestDecodersAreFuzzed: every function that is named as a decoder has a fuzz target.
func TestDecodersAreFuzzed(t *testing.T) {
	targets := map[string]bool{}
	for _, folder := range []string{"api", "bus", "exposure", "index", "ingest", "segment", "simhash", "compare"} {
		err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			dir := filepath.ToSlash(filepath.Dir(path))
			if strings.HasSuffix(path, "_test.go") {
				for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`).FindAllStringSubmatch(string(text), -1) {
					targets[dir+"."+m[1]] = true
				}
				return nil
			}
			for _, m := range decoderName.FindAllStringSubmatch(string(text), -1) {
				name := dir + "." + m[1]
				if _, known := decoders[name]; !known && !strings.Contains(dir, "gentables") {
					t.Errorf("%s reads bytes from outside and has no fuzz target: write one and add it to decoders", name)
				}
			}
			return nil
		})
		testbed.OK(t, err)
	}
	for name, target := range decoders {
		if target != "" && !targets[target] {
			t.Errorf("%s: there is no %s", name, target)
		}
	}
}
