# frozen_string_literal: true

require "prism"

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
        @required = []
        @reads = []
        visit(Prism.parse(text).value)
      end

      # @return [Array<String>] as written, such as "Runtime::PollLoop" or "::Thread"
      def constants
        @constants.uniq
      end

      # @return [Array<String>] files of require_relative, from the repository's root
      def required_paths
        @required.map { |name| File.expand_path("#{name}.rb", "/#{File.dirname(@path)}").delete_prefix("/") }
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
          return [node.respond_to?(:superclass) ? node.superclass : nil, node.body].compact.each { |child| visit(child) }
        when Prism::CallNode
          note_call(node)
        end
        node.compact_child_nodes.each { |child| visit(child) }
      end

      def note_call(node)
        argument = node.arguments&.arguments&.first
        @required << argument.unescaped if node.name == :require_relative && argument.is_a?(Prism::StringNode)
        receiver = node.receiver
        @reads << node.name.to_s if receiver.is_a?(Prism::ConstantReadNode) && receiver.name == :Penstock
      end
    end
  end
end
