# frozen_string_literal: true

module Penstock
  module TestSupport
    # Fault runs: they cause faults in running systems and account for every record. See docs/reliability.md.
    module FaultRuns
      # A test file of the repository that is a part of a case.
      TestPart = Struct.new(:file, :only, :broker, :env, keyword_init: true) do
        def name = [file.delete_prefix("test/").delete_suffix("_test.rb"), only].compact.join(" ")

        def command
          loader = [RbConfig.ruby, "-Ilib", "-Itest", file]
          only ? [*loader, "-n", "/#{only}/"] : loader
        end
      end

      # A command of the repository that is a part of a case.
      CommandPart = Struct.new(:command, keyword_init: true) do
        def name = command.join(" ")
        def broker = nil
        def env = {}
      end

      # A run on three brokers: its block runs in a {Scene}. Options are those of {Checker}.
      RunPart = Struct.new(:name, :options, :block, keyword_init: true)

      # A row of the fault matrix.
      class Case
        # @return [String]
        attr_reader :name, :about, :passes
        # @return [Array<TestPart, CommandPart, RunPart>]
        attr_reader :parts
        # @return [String, nil] why it can't run
        attr_reader :missing

        # @param name [String] for example T12
        # @param about [String] the fault
        # @param passes [String] when it passes
        # @param missing [String, nil]
        def initialize(name, about, passes:, missing: nil)
          @name = name
          @about = about
          @passes = passes
          @missing = missing
          @parts = []
        end

        # @param file [String] without folder and ending
        # @param only [String, nil] which of its tests
        # @param broker [Symbol, nil] :one, :cluster
        def test(file, only = nil, broker: nil, env: {})
          @parts << TestPart.new(file: "test/#{file}_test.rb", only: only, broker: broker, env: env)
        end

        def command(*words) = @parts << CommandPart.new(command: words)

        # @param name [String]
        # @param options [Hash] of {Checker}
        def run(name, **options, &block) = @parts << RunPart.new(name: name, options: options, block: block)
      end

      @cases = {}

      class << self
        # @return [Hash{String => Case}] all cases, in the order of their numbers
        def cases
          Dir[File.join(__dir__, "cases/*.rb")].sort.each { |path| require path }
          @cases.sort.to_h
        end

        # @yieldparam [Case]
        def define(name, about, **options)
          raise ArgumentError, "two cases are called #{name}" if @cases.key?(name)

          @cases[name] = Case.new(name, about, **options).tap { |made| yield made if block_given? }
        end
      end
    end
  end
end
