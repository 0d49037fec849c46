module interop

go 1.25

require (
	github.com/beanstalkd/go-beanstalk v0.2.0
	github.com/contribsys/faktory v1.10.0
	github.com/contribsys/faktory_worker_go v1.7.0
)
