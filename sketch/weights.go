package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -4.75, Of: Evidence{
	SoftLeast:    3.41,
	Slots:        -1.33,
	Conflicts:    -1.85,
	News:         -0.72,
	Agreed:       0.39,
	Shared:       0.50,
	Longest:      -1.45,
	MeanRun:      0.35,
	RestMost:     -4.31,
	Overhang:     -7.37,
	Novel:        0.62,
	NovelMost:    -11.85,
	Head:         1.38,
	Foreign:      -13.01,
	Subjects:     -1.60,
	Developments: -0.08,
	Topic:        -0.28,
	Titled:       -1.70,
	Words:        -0.80,
	Label:        -3.81,
	Lead:         -1.48,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -5.94, Of: Evidence{
	SoftLeast:    1.36,
	SoftMost:     4.21,
	Slots:        2.58,
	Conflicts:    -2.24,
	Missing:      -0.27,
	News:         0.12,
	Agreed:       0.88,
	Shared:       0.44,
	Longest:      -0.19,
	MeanRun:      0.23,
	Swaps:        -3.32,
	RestMost:     -1.40,
	Overhang:     -3.55,
	Novel:        0.66,
	NovelMost:    -0.99,
	Head:         -0.08,
	Foreign:      -14.26,
	Subjects:     -1.30,
	Developments: 1.05,
	Topic:        -0.78,
	Titled:       -0.96,
	Words:        -0.80,
	Label:        -3.97,
	Lead:         -1.72,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -8.51, Of: Evidence{
	SoftLeast: 8.31,
	SoftMost:  0.66,
	Slots:     -3.75,
	Conflicts: -1.90,
	Missing:   -3.01,
	News:      -0.49,
	Agreed:    0.37,
	Shared:    0.32,
	Resembles: 2.32,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -8.03, Of: Evidence{
	SoftLeast: -1.55,
	SoftMost:  6.08,
	Slots:     1.82,
	Conflicts: -3.14,
	Missing:   -2.58,
	News:      -0.08,
	Agreed:    0.80,
	Shared:    0.94,
	Resembles: 1.29,
}}
