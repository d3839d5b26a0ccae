package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -5.20, Of: Evidence{
	SoftLeast:    1.94,
	SoftMost:     0.73,
	Slots:        -4.08,
	Conflicts:    -1.30,
	Missing:      -2.28,
	News:         -0.85,
	Agreed:       0.34,
	Shared:       0.63,
	Longest:      -2.49,
	MeanRun:      0.64,
	Swaps:        -1.39,
	RestLeast:    -2.09,
	RestMost:     -2.46,
	Overhang:     -6.30,
	Novel:        0.31,
	NovelMost:    -6.60,
	Head:         2.02,
	HeadLeast:    0.17,
	Foreign:      -3.68,
	Subjects:     -1.64,
	Developments: -0.95,
	Echo:         -5.50,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -8.35, Of: Evidence{
	SoftLeast:    1.93,
	SoftMost:     3.32,
	Slots:        -1.16,
	Conflicts:    -1.39,
	Missing:      -2.35,
	News:         -0.22,
	Agreed:       0.72,
	Shared:       0.51,
	Longest:      -0.66,
	MeanRun:      0.88,
	Swaps:        -4.24,
	RestLeast:    -0.53,
	RestMost:     -1.54,
	Overhang:     -5.90,
	Novel:        0.50,
	NovelMost:    1.27,
	Head:         3.95,
	HeadLeast:    -3.12,
	Foreign:      -3.72,
	Subjects:     -1.62,
	Developments: 1.84,
	Echo:         -20.83,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -9.52, Of: Evidence{
	SoftLeast: 5.17,
	SoftMost:  2.55,
	Slots:     -2.12,
	Conflicts: -1.53,
	Missing:   -2.93,
	News:      -0.89,
	Agreed:    0.38,
	Shared:    0.78,
	Resembles: 1.05,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -8.76, Of: Evidence{
	SoftLeast: 0.21,
	SoftMost:  5.25,
	Slots:     0.51,
	Conflicts: -2.73,
	Missing:   -3.41,
	News:      -0.15,
	Agreed:    0.82,
	Shared:    1.03,
	Resembles: 0.37,
}}
