# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "support/embedded_broker"
require "support/served"

module Penstock
  # Output that can't be written, and no free descriptors. For other resources see test/ledger/exhaustion_test.rb.
  class ExhaustionProcessTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    def server(**options) = serve("server", **options)

    test "T34: output that can't be written: stdout is closed, a pipe without a reader, a full device" do
      reader, writer = IO.pipe
      reader.close
      [{%i[out err] => :close}, {%i[out err] => writer}, {%i[out err] => "/dev/full"}].each_with_index do |options, index|
        assert_works(server(env: journal, **options), "x#{index}")
      end
    ensure
      writer&.close
    end

    test "T34: without descriptors for its own files a server reports what is missing, and works once there are some" do
      # Descriptors that other threads close don't help: only the lowest numbers may be used, and all of them are taken.
      assert_works(server(env: {**journal, "MORE" => <<~RUBY}))
        require "penstock/runtime/loop/poll_loop"
        Penstock::Runtime::PollLoop.prepend(Module.new do
          def load_parts
            return super if @again
            @again = held = []
            usual = Process.getrlimit(:NOFILE)
            Process.setrlimit(:NOFILE, 3, usual.last)
            begin
              loop { held << File.open(File::NULL) }
            rescue Errno::EMFILE
              super
            end
          ensure
            Process.setrlimit(:NOFILE, *usual) if usual
            held&.each(&:close)
          end
        end)
      RUBY

      assert_match(/connection is re-opened: .*Too many open files/, @started.last.log)
    end

    test "T34: a logger that raises at each call costs its lines, nothing else" do
      server = server(env: {**journal, "MORE" => <<~RUBY})
        class Broken < Logger
          def add(*) = raise(IOError, "no log today")
          %i[debug info warn error fatal unknown].each { |name| define_method(name) { |*| raise IOError, "no log today" } }
        end
        PenstockApp.setup { |config| config.logger = Broken.new(File::NULL) }
      RUBY
      server.await("a server") { File.exist?("/proc/#{server.pid}/task") && Dir.children("/proc/#{server.pid}/task").size > 8 }
      server.signal(:TTIN)
      assert_works(server)
    end
  end
end
