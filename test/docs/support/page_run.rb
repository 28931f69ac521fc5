# frozen_string_literal: true

# Runs the examples of one page in a separate process. ARGV: the page, and its name in failures.
require "fileutils"
require "json"
require "tmpdir"
require "penstock"
require "penstock/testing/cluster"
require_relative "page"
require_relative "ruby_example"
require_relative "shell_example"
require_relative "watch"

module Penstock
  module DocsTest
    # Runs one page from top to bottom: its examples share a folder and an embedded broker, each has a process.
    class PageRun
      ADDRESS = "127.0.0.1:9092"

      def initialize(path, name)
        @page = Page.new(path, name)
        @failures = []
        @ran = 0
      end

      # @return [Hash] the result for the test
      def call
        Dir.mktmpdir("penstock-docs") do |folder|
          Testing::Cluster.start do |cluster|
            prepare(folder, cluster)
            @page.examples.each { |example| take(example) }
          end
        end
        {ran: @ran, failures: @failures}
      end

      private

      def prepare(folder, cluster)
        @folder = File.join(folder, "app")
        Dir.mkdir(@folder)
        @bootstrap = cluster.bootstrap_servers
        ENV["PATH"] = "#{ShellExample.commands_in(File.join(folder, "bin"))}:#{ENV.fetch("PATH")}"
        ENV["KAFKA_BOOTSTRAP_SERVERS"] = @bootstrap
      end

      def take(example)
        return unless example.runs?
        @ran += 1
        code = example.code.gsub(ADDRESS, @bootstrap)
        target = example.directive("file")
        return write(example, target, code) if target
        run(example, code)
        run(example.failing, code, " (failing)") if example.failing
      end

      def write(example, target, code)
        RubyVM::InstructionSequence.compile(code) if example.language == "ruby"
        path = File.join(@folder, target)
        FileUtils.mkdir_p(File.dirname(path))
        File.write(path, code)
      rescue SyntaxError => error
        @failures << "#{example.place}: #{error.message}"
      end

      def run(example, code, what = nil)
        kind = (example.language == "ruby") ? RubyExample : ShellExample
        failure = Watch.new(example).call { |output| kind.new(example, code).start(@folder, output) }
        @failures << "#{failure}#{what}" if failure
      end
    end
  end
end

puts JSON.generate(Penstock::DocsTest::PageRun.new(*ARGV).call) if $PROGRAM_NAME == __FILE__
