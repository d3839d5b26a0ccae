package sketch

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// units are the units of figures, one group of equal meaning a word; the first one is the group's name.
var units = func() map[string]string {
	out := map[string]string{}
	for _, group := range strings.Fields(`人/名/位/人次 例/起/宗/件 户/家庭 岁/周岁 元/块/元人民币/人民币 美元/美金 美分 欧元 日元 港元/港币 新元 澳元 加元 台币/新台币 英镑 韩元 卢布 公里/km
		米/m 厘米/公分/cm 毫米/mm 纳米 英里 英亩 平方米/㎡/m2 平方公里 公顷 亩 立方米/m3 立方米每秒 吨/t 公斤/千克/kg 克/g 毫克/mg 微克 斤 升/l 毫升/ml 千瓦 千瓦时 兆瓦 吉瓦 吉瓦时 瓦 c/摄氏度/度 级 个百分点/百分点
		年/载 个月/个多月 天/日 小时/个小时/个多小时 分钟/分 秒/s 倍 成 次/场 场次 辆 架 艘 台 套 台套 座/栋/幢 所 家 个 张 件套 只/头 株 股 手 点 基点/bp/个基点 桶 票 名次 期 届 号 楼 条
		层 公斤级 公里每小时/km/h 册 项 处 页 份 封 段 盏 棵 顶 箱 袋 瓶 盒 枚 幅 列 班 架次 车次/辆次 间 笔 单 批 轮 首 部 篇 根 口 组 对 双 支 杯 人份 克拉 公升 盎司 磅 海里 节 里 支队 拍 条次 篇 万步 步 g w mah hz gb/g/b tb 英寸 nm nits ppi 瓦时 伏 帕 赫 延长米 标箱/标准箱 周年 年代 周 种 款 颗 趟 具 席 折 号线 市 县 后 交易日/个交易日 工作日/个工作日`) {
		names := strings.Split(group, "/")
		for _, n := range names {
			if _, known := out[n]; !known {
				out[n] = names[0]
			}
		}
	}
	return out
}()

// counted are the units before which one Chinese digit is a number. 个 and 次 are not among them, and 一 never
// is: 一次, 一时 and 三个代表 are words.
var counted = strings.Fields("名 人 例 户 岁 天 小时 个月 分钟 公里 公斤 米 吨 元 倍 成 辆 架 艘 座 家 所")

// rates are the units behind a slash.
var rates = strings.Fields("秒 分钟 小时 天 年 人 股 吨 公斤 克 斤 升 桶 平方米 立方米 公里 亩 组 次 份")

// unmeasured are words that begin with a unit.
var unmeasured = strings.Fields("升值 升至 升级 升温 元旦 米兰 手机 成都 成为 单位 分别 分成 分为 点评 级别 期间 层次 次日 号称 场景 支持 根据 里程 组织 组成 间接 对于 对外 双方 股东 家长 家属 家庭 家庄 后来 后续 后期 后卫 载人 载重 市场 市值 市民 市区 市级 市委 市政 县域 县级 县委 项目 处于 处理 份额 段落 篇章 批准 首次 首个 口径")

// kilos are the units that are a thousand of another one: 10千米 is read as 10千 of 米.
var kilos = map[string]string{"公里": "米", "公斤": "克", "千瓦": "瓦", "千瓦时": "瓦时"}

// setUnit says what a figure counts.
func (f *Fact) setUnit(unit string) {
	f.unit = unit
	if unit == "年代" {
		f.value = math.Mod(f.value, 100) // 1990年代 is 上世纪90年代
	}
	if base, ok := kilos[unit]; ok {
		f.unit, f.place, f.value = base, 1e3*f.place, math.Round(1e7*f.value)/1e4
	}
}

const unitRunes = 5 // of the longest unit

// unitAt is the length in bytes of the unit at s[i:] and its group's name.
func unitAt(s string, i int) (n int, unit string) {
	end := i
	for range unitRunes {
		r, size := utf8.DecodeRuneInString(s[end:])
		if size == 0 || r == '\n' || r == ' ' {
			break
		}
		end += size
		if u, ok := units[s[i:end]]; ok && !(isLatin(s[i:end]) && end < len(s) && isLatin(s[end:end+1])) {
			n, unit = end-i, u
		}
	}
	return n, unit
}

// measure is the length in bytes of what a figure that ends at an offset counts, and its group's name: 元, 米/秒, of which the normal
// form has no slash.
func (s *side) measure(at int) (size int, unit string) {
	size, unit = unitAt(s.text, at)
	rest := s.text[at:]
	if size > 0 && slices.ContainsFunc(unmeasured, func(word string) bool { return strings.HasPrefix(rest, word) }) {
		return 0, ""
	}
	if size == 0 || !strings.HasPrefix(rest[size:], "\n") {
		return size, unit
	}
	per, u := unitAt(rest, size+1)
	behind, _ := utf8.DecodeRuneInString(rest[size+1+per:])
	if slices.Contains(rates, u) && strings.ContainsRune("\n至到-"+string(utf8.RuneError), behind) {
		return size + 1 + per, unit + "/" + u
	}
	return size, unit
}
