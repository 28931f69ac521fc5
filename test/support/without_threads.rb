# frozen_string_literal: true

require "open3"
require "rbconfig"
require "tmpdir"
require_relative "ruby_program"

module Penstock
  module TestSupport
    # Programs in a process in which thread creation can be refused, from ENV["NO_THREADS"] = "1" on for the driver's
    # and librdkafka's, with "own" for the driver's only, which have small stacks. ENV["REFUSED"] is set when one was
    # refused.
    module WithoutThreads
      SHIM = <<~C
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <pthread.h>
        #include <stdlib.h>
        #include <string.h>

        int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg) {
          int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
          const char *none = getenv("NO_THREADS");
          Dl_info info;

          if (!none || (!attr && !strcmp(none, "own")) || !dladdr((void *)body, &info) || !strstr(info.dli_fname, "penstock_kafka")) {
            return real(thread, attr, body, arg);
          }
          setenv("REFUSED", "1", 1);
          return EAGAIN;
        }
      C

      WAIT = <<~RUBY
        def wait_until
          limit = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + 40
          until yield
            abort "the condition has not become true within 40 s" if ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) > limit
            Thread.pass
          end
        end
      RUBY

      # @return [String] what the program prints
      def without_threads(code)
        skip "glibc's dynamic linker alone" unless RbConfig::CONFIG["host_os"].include?("linux")
        skip "AddressSanitizer creates the threads itself, under its own name" if ENV["LD_PRELOAD"].to_s.include?("asan")
        Dir.mktmpdir do |folder|
          preload = [*ENV["LD_PRELOAD"], shim(folder)].join(":") # in the form that valgrind expects, which removes its own
          output, result = RubyProgram.run(WAIT + code, timeout: 120, env: {"LD_PRELOAD" => preload})

          assert_predicate result, :success?, output
          output
        end
      end

      private

      def shim(folder)
        library = File.join(folder, "no_threads.so")
        output, status = Open3.capture2e({"LD_PRELOAD" => nil}, *RbConfig::CONFIG["CC"].split, "-shared", "-fPIC", "-xc", "-",
          "-ldl", "-o", library, stdin_data: SHIM)
        assert_predicate status, :success?, output
        library
      end
    end
  end
end
