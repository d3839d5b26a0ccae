package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -5.60, Of: Evidence{
	SoftLeast:    2.07,
	SoftMost:     0.53,
	Slots:        -4.01,
	Conflicts:    -1.41,
	Missing:      -2.09,
	News:         -0.84,
	Agreed:       0.34,
	Shared:       0.60,
	Longest:      -2.47,
	MeanRun:      0.72,
	Swaps:        -1.43,
	RestLeast:    -1.77,
	RestMost:     -2.59,
	Overhang:     -6.44,
	Novel:        0.31,
	NovelMost:    -6.14,
	Head:         2.24,
	HeadLeast:    0.26,
	Foreign:      -2.95,
	Subjects:     -1.66,
	Developments: -0.86,
	Echo:         -4.97,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -8.91, Of: Evidence{
	SoftLeast:    2.04,
	SoftMost:     2.93,
	Slots:        -1.06,
	Conflicts:    -1.50,
	Missing:      -2.02,
	News:         -0.19,
	Agreed:       0.71,
	Shared:       0.52,
	Longest:      -0.73,
	MeanRun:      0.98,
	Swaps:        -4.16,
	RestLeast:    -0.40,
	RestMost:     -1.38,
	Overhang:     -6.44,
	Novel:        0.50,
	NovelMost:    1.28,
	Head:         4.40,
	HeadLeast:    -3.02,
	Foreign:      -3.31,
	Subjects:     -1.53,
	Developments: 1.80,
	Echo:         -22.96,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -9.35, Of: Evidence{
	SoftLeast: 5.22,
	SoftMost:  2.21,
	Slots:     -2.56,
	Conflicts: -1.45,
	Missing:   -2.61,
	News:      -0.94,
	Agreed:    0.38,
	Shared:    0.84,
	Resembles: 0.67,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -8.62, Of: Evidence{
	SoftLeast: 0.76,
	SoftMost:  4.44,
	Slots:     0.80,
	Conflicts: -2.74,
	Missing:   -3.13,
	News:      -0.21,
	Agreed:    0.86,
	Shared:    1.05,
	Resembles: 0.32,
}}
