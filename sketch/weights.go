package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -3.98, Of: Evidence{
	SoftLeast:    2.97,
	Slots:        -0.49,
	Conflicts:    -2.03,
	News:         -0.80,
	Agreed:       0.34,
	Shared:       0.47,
	Longest:      -2.21,
	MeanRun:      0.40,
	RestMost:     -4.74,
	Overhang:     -6.59,
	Novel:        0.66,
	NovelMost:    -12.16,
	Head:         1.49,
	Foreign:      -11.16,
	Subjects:     -1.15,
	Developments: -0.46,
	Topic:        -0.30,
	Titled:       -1.81,
	Words:        -0.84,
	Label:        -4.23,
	Lead:         -1.17,
	Apart:        -0.36,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -4.57, Of: Evidence{
	SoftLeast:    0.95,
	SoftMost:     4.59,
	Slots:        3.35,
	Conflicts:    -2.33,
	Missing:      -0.23,
	News:         -0.12,
	Agreed:       0.82,
	Shared:       0.27,
	Longest:      -1.40,
	MeanRun:      0.50,
	Swaps:        -4.05,
	RestMost:     -2.30,
	Overhang:     -3.93,
	Novel:        0.82,
	NovelMost:    -1.38,
	Head:         -0.26,
	Foreign:      -11.34,
	Subjects:     -1.31,
	Developments: 1.41,
	Topic:        -0.99,
	Titled:       -0.47,
	Words:        -0.84,
	Label:        -4.64,
	Lead:         -1.65,
	Apart:        -0.52,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -7.68, Of: Evidence{
	SoftLeast: 8.84,
	SoftMost:  -0.18,
	Slots:     -2.48,
	Conflicts: -1.95,
	Missing:   -2.78,
	News:      -0.53,
	Agreed:    0.33,
	Shared:    0.33,
	Resembles: 1.49,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -7.82, Of: Evidence{
	SoftLeast: -1.57,
	SoftMost:  6.24,
	Slots:     4.09,
	Conflicts: -3.63,
	Missing:   -2.76,
	News:      -0.24,
	Agreed:    0.87,
	Shared:    1.05,
	Resembles: 0.35,
}}
