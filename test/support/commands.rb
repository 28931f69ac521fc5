# frozen_string_literal: true

require "fileutils"
require "minitest/mock"
require "stringio"
require "tmpdir"
require "penstock/cli"

module Penstock
  module TestSupport
    # Runs commands of the command line in this process, in an empty folder and with streams that a test can read. A test
    # replaces the part that needs a cluster, a database or a running server: `replacing(CLI::Target, target) { … }`.
    module Commands
      Result = Struct.new(:out, :err, :code)

      # The standard input of a person at a terminal.
      class Terminal < StringIO
        def tty? = true
      end

      # A target whose administration is a stand-in.
      Target = Struct.new(:cluster, :application, :groups, keyword_init: true) do
        def admin = yield(cluster)

        def without_application_because = "no application is loaded"
      end

      def setup
        super
        @dir = File.realpath(Dir.mktmpdir("commands"))
        @env = {}
      end

      def teardown
        FileUtils.remove_entry(@dir)
        super
      end

      # @param argv [Array<String>]
      # @param input [String] standard input
      # @param typed [String, nil] the same, typed at a terminal
      # @return [Result]
      def penstock(*argv, input: "", typed: nil)
        out, err = StringIO.new, StringIO.new
        context = CLI::Context.new(stdin: typed ? Terminal.new(typed) : StringIO.new(input), stdout: out, stderr: err, env: @env,
          dir: @dir)
        code = CLI.start(argv, context)
        Result.new(out.string, err.string, code)
      end

      # Within the block, creating an object of the class returns this one.
      def replacing(type, object, &block) = type.stub(:new, object, &block)

      # @param name [Symbol] of the error's code
      def kafka_error(name, message = "no") = KafkaError.build(number: -1, name: name.to_s, message: message)
    end
  end
end
