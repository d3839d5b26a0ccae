package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"slices"
)

// cell is the colours that are alike by six bits a channel: how many pixels have one, and their sums.
type cell struct{ n, r, g, b int }

// mean is the colour that stands for a cell.
func (c *cell) mean() color.RGBA {
	return color.RGBA{uint8(c.r / c.n), uint8(c.g / c.n), uint8(c.b / c.n), 255}
}

// at is the colour of a pixel, and the key of its cell.
func at(src image.Image, x, y int) (color.RGBA, [3]uint8) {
	c := color.RGBAModel.Convert(src.At(x, y)).(color.RGBA)
	return c, [3]uint8{c.R >> 2, c.G >> 2, c.B >> 2}
}

// cellsOf counts the colours of a picture. keys has the most frequent first.
func cellsOf(src image.Image) (cells map[[3]uint8]*cell, keys [][3]uint8) {
	cells = map[[3]uint8]*cell{}
	bounds := src.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c, key := at(src, x, y)
			k := cells[key]
			if k == nil {
				k = new(cell)
				cells[key] = k
				keys = append(keys, key)
			}
			k.n, k.r, k.g, k.b = k.n+1, k.r+int(c.R), k.g+int(c.G), k.b+int(c.B)
		}
	}
	slices.SortFunc(keys, func(a, b [3]uint8) int {
		return cmp.Or(cmp.Compare(cells[b].n, cells[a].n), slices.Compare(a[:], b[:]))
	})
	return cells, keys
}

// small makes a picture of at most 256 colours: pages have few, and the files
// become half as large.
func small(picture []byte) ([]byte, error) {
	src, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	bounds := src.Bounds()
	cells, keys := cellsOf(src)
	palette := color.Palette{}
	for _, k := range keys[:min(len(keys), 160)] {
		palette = append(palette, cells[k].mean())
	}
	// The rest of the palette goes to the colours it serves worst: small things
	// are seen too.
	for len(palette) < min(len(keys), 256) {
		worst, far := color.RGBA{}, -1
		for _, k := range keys {
			m := cells[k].mean()
			if d := distance(m, palette[palette.Index(m)].(color.RGBA)) * min(cells[k].n, 40); d > far {
				worst, far = m, d
			}
		}
		palette = append(palette, worst)
	}
	index := map[[3]uint8]uint8{}
	for _, k := range keys {
		index[k] = uint8(palette.Index(cells[k].mean()))
	}
	dst := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			_, key := at(src, x, y)
			dst.SetColorIndex(x, y, index[key])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, dst)
	return out.Bytes(), err
}

func distance(a, b color.RGBA) int {
	r, g, bl := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + bl*bl
}
