package main

import _ "jianguo/internal/memdir"
