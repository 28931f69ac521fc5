# frozen_string_literal: true

require "open3"
require "rbconfig"
require_relative "child"

module Penstock
  module TestSupport
    # Runs Ruby programs in a process of their own, with this process's load path: under a memory checker they use the
    # extensions that were built for it.
    module RubyProgram
      module_function

      # @return [Array<String>] the command; append "-e", code or a file
      def command(*arguments)
        [RbConfig.ruby, *$LOAD_PATH.first(6).map { |path| "-I#{path}" }, *arguments]
      end

      # @param prefix [Array<String>] a command that runs the program's
      # @return [(String, Child::Result)] what it wrote to both outputs, and how it ended
      def run(code, *arguments, timeout: 30, env: {}, prefix: [])
        reader, writer = IO.pipe
        collector = Thread.new { reader.read }
        result = Child.run([*prefix, *command("-e", code, *arguments)], timeout: timeout * Wait::TIME_FACTOR, env: env,
          out: writer, err: writer)
        writer.close
        [collector.value, result]
      ensure
        [reader, writer].each(&:close)
      end
    end
  end
end
