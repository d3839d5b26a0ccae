package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -4.51, Of: Evidence{
	SoftLeast: 1.43,
	Slots:     -0.62,
	Conflicts: -1.97,
	News:      -0.70,
	Agreed:    0.29,
	Shared:    1.34,
	Longest:   -0.82,
	MeanRun:   -0.24,
	RestMost:  -1.09,
	Overhang:  -7.80,
	Novel:     0.71,
	NovelMost: -8.90,
	Head:      1.11,
	Foreign:   -13.07,
	Subjects:  -1.15,
	Topic:     -0.36,
	Titled:    -1.65,
	Words:     -0.77,
	Label:     -3.79,
	Lead:      -1.28,
	Apart:     -0.37,
	Moved:     -3.43,
	Grown:     -2.55,
	Amid:      -0.29,
	Inserted:  -1.57,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -4.78, Of: Evidence{
	SoftLeast:    1.05,
	SoftMost:     4.44,
	Slots:        1.87,
	Conflicts:    -1.93,
	Missing:      -0.60,
	News:         -0.12,
	Agreed:       0.69,
	Shared:       0.37,
	Longest:      -1.18,
	MeanRun:      0.41,
	Swaps:        -3.64,
	RestMost:     -1.82,
	Overhang:     -3.37,
	Novel:        0.72,
	NovelMost:    -0.77,
	Head:         -0.30,
	Foreign:      -12.90,
	Subjects:     -1.27,
	Developments: 1.16,
	Topic:        -0.86,
	Titled:       -0.54,
	Words:        -0.67,
	Label:        -4.01,
	Lead:         -1.29,
	Apart:        -0.50,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -7.42, Of: Evidence{
	SoftLeast: 8.88,
	SoftMost:  -0.72,
	Slots:     -2.00,
	Conflicts: -1.90,
	Missing:   -2.55,
	News:      -0.52,
	Agreed:    0.33,
	Shared:    0.33,
	Resembles: 1.66,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -7.71, Of: Evidence{
	SoftLeast: -1.46,
	SoftMost:  5.87,
	Slots:     2.68,
	Conflicts: -3.27,
	Missing:   -2.55,
	News:      -0.24,
	Agreed:    0.82,
	Shared:    1.11,
	Resembles: 0.15,
}}
