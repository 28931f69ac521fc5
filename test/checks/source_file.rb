# frozen_string_literal: true

require "prism"
require_relative "on_demand"

module Penstock
  module Checks
    # A Ruby file as the layer check sees it: its requires and the constants that it names. Comments don't count.
    class SourceFile
      attr_reader :path

      def self.read(path)
        new(path, File.read(path))
      end

      def initialize(path, text)
        @path = path
        @text = text
        @constants = []
        @opened = []
        @required = []
        @required_absolutely = []
        @loaded = []
        @reads = []
        visit(Prism.parse(text).value)
      end

      # @return [Array<String>] as written, such as "Runtime::PollLoop" or "::Thread"
      def constants
        @constants.uniq
      end

      # @return [Array<String>] classes and modules that it opens directly in Penstock, such as "Admin"
      attr_reader :opened

      # @return [Array<String>] files that it loads, from the repository's root: required, or by their constant
      def required_paths
        required_by_path + @loaded.filter_map { |name| OnDemand.file(name) }
      end

      # @return [Array<String>] files of require_relative and of `require "penstock/…"`, from the repository's root
      def required_by_path
        @required.map { |name| File.expand_path("#{name}.rb", "/#{File.dirname(@path)}").delete_prefix("/") } +
          @required_absolutely.map { |name| "lib/#{name}.rb" }
      end

      # @return [Array<String>] app, producer, monitor …: attributes read from the global Penstock
      def reads_of_penstock
        @reads.uniq
      end

      private

      def visit(node)
        case node
        when Prism::ConstantPathNode, Prism::ConstantReadNode
          return @constants << node.slice
        when Prism::ModuleNode, Prism::ClassNode
          # The name that is being defined is no use of it.
          opens(node)
          return [node.respond_to?(:superclass) ? node.superclass : nil, node.body].compact.each { |child| visit(child) }
        when Prism::CallNode
          note_call(node)
        end
        node.compact_child_nodes.each { |child| visit(child) }
      end

      def note_call(node)
        texts = node.arguments&.arguments.to_a.filter_map { |one| one.unescaped if one.respond_to?(:unescaped) }
        case node.name
        when :require_relative then @required.concat(texts)
        when :require then @required_absolutely.concat(texts.grep(%r{\Apenstock/}))
        end
        receiver = node.receiver
        return unless receiver.is_a?(Prism::ConstantReadNode) && receiver.name == :Penstock

        (node.name == :load_constant) ? @loaded.concat(texts) : @reads << node.name.to_s
      end

      def opens(node)
        return unless node.constant_path.slice == "Penstock" && node.body

        inner = node.body.body.grep(Prism::ModuleNode) + node.body.body.grep(Prism::ClassNode)
        @opened.concat(inner.map { |one| one.constant_path.slice })
      end
    end
  end
end
