module github.com/qdissect/qdissect/internal/tools/lab

go 1.26.0
