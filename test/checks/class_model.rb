# frozen_string_literal: true

require "prism"

module Penstock
  module Checks
    # The classes and modules of Ruby sources, read without loading them: the methods of each, which of them are public,
    # what it includes, and which instance variables its methods use.
    class ClassModel
      # A class or a module. `mixins` are names as written, from `include`, `prepend` and `extend`.
      Entry = Struct.new(:name, :file, :methods, :mixins, keyword_init: true) do
        def public_methods = methods.values.select(&:public)

        def variables = methods.values.flat_map(&:variables).uniq
      end

      # `variables` are read or written, `changed` are assigned or changed in place (a memoized `||=` doesn't count),
      # `calls` are methods called on self.
      Member = Struct.new(:name, :line, :public, :variables, :changed, :calls, keyword_init: true)

      # Methods that change their receiver, besides assignments and names that end in `!`.
      MUTATORS = %i[<< push append concat unshift insert shift pop add add? delete delete? delete_if delete_at reject! select!
        clear store replace update merge! keep_if compare_by_identity close synchronize_write].freeze
      ATTRIBUTES = {attr_reader: %w[r], attr_writer: %w[w], attr_accessor: %w[r w]}.freeze

      # @param sources [Hash{String => String}] path and text
      # @return [Array<Entry>] a class that several files reopen is one entry
      def self.of(sources)
        model = new
        sources.each { |path, text| model.read(path, text) }
        model.entries.values
      end

      attr_reader :entries

      def initialize
        @entries = {}
      end

      def read(path, text)
        @path = path
        body(Prism.parse(text).value.statements, [], nil)
      end

      private

      def body(node, names, entry)
        visible = true
        node&.compact_child_nodes&.each do |child|
          case child
          when Prism::ModuleNode, Prism::ClassNode then enter(names, child.constant_path.slice, child.body)
          when Prism::ConstantWriteNode then constant(child, names)
          when Prism::DefNode then define(entry, child, visible) if entry
          when Prism::CallNode
            visible = false if visibility(child) == false && child.arguments.nil?
            visible = true if visibility(child) && child.arguments.nil?
            call(child, entry, visible) if entry
          end
        end
      end

      def enter(names, name, contents)
        path = [*names, name]
        entry = @entries[path.join("::")] ||= Entry.new(name: path.join("::"), file: @path, methods: {}, mixins: [])
        body(contents, path, entry)
      end

      # `Point = Struct.new(:x) do … end`, and Class.new and Module.new.
      def constant(node, names)
        value = node.value
        return unless value.is_a?(Prism::CallNode) && value.name == :new &&
          %w[Struct Class Module].include?(value.receiver&.slice)

        enter(names, node.name.to_s, value.block&.body)
        members = (value.receiver.slice == "Struct") ? symbols(value) : []
        members.each { |name| add(@entries[[*names, node.name].join("::")], name, node, true) }
      end

      def visibility(node)
        {private: false, protected: false, public: true}[node.name] if node.receiver.nil?
      end

      def call(node, entry, visible)
        return if node.receiver
        return attributes(node, entry, visible) if ATTRIBUTES.key?(node.name)

        case node.name
        when :include, :prepend, :extend then entry.mixins.concat(node.arguments.arguments.map(&:slice))
        when :private, :protected, :public then change(node, entry, visibility(node)) if node.arguments
        when :alias_method, :define_method then add(entry, symbols(node).first, node, visible) if symbols(node).any?
        when :def_delegators then symbols(node).drop(1).each { |name| add(entry, name, node, visible) }
        end
      end

      def attributes(node, entry, visible)
        symbols(node).each do |name|
          ATTRIBUTES.fetch(node.name).each { |way| add(entry, (way == "r") ? name : :"#{name}=", node, visible) }
        end
      end

      # private :a, private def a, private attr_reader :a
      def change(node, entry, visible)
        node.arguments.arguments.each do |argument|
          case argument
          when Prism::DefNode then define(entry, argument, visible)
          when Prism::CallNode then call(argument, entry, visible)
          when Prism::SymbolNode then entry.methods[argument.unescaped.to_sym]&.public = visible
          end
        end
      end

      def symbols(node)
        (node.arguments&.arguments || []).grep(Prism::SymbolNode).map { |symbol| symbol.unescaped.to_sym }
      end

      def define(entry, node, visible)
        return if node.receiver

        add(entry, node.name, node, visible && node.name != :initialize)
      end

      def add(entry, name, node, visible)
        member = Member.new(name: name, line: node.location.start_line, public: visible, variables: [], changed: [], calls: [])
        entry.methods[name] = member
        node.is_a?(Prism::DefNode) ? walk(node.body, member) : member.variables << :"@#{name.to_s.chomp("=")}"
      end

      def walk(node, member)
        case node
        when nil then return
        when Prism::InstanceVariableReadNode, Prism::InstanceVariableOrWriteNode then member.variables << node.name
        when Prism::InstanceVariableWriteNode, Prism::InstanceVariableOperatorWriteNode, Prism::InstanceVariableAndWriteNode,
             Prism::InstanceVariableTargetNode
          member.variables << node.name
          member.changed << node.name
        when Prism::CallNode then walk_call(node, member)
        when Prism::IndexOperatorWriteNode, Prism::CallOperatorWriteNode, Prism::IndexOrWriteNode
          changes(node.receiver, member) unless node.is_a?(Prism::IndexOrWriteNode)
        end
        node.compact_child_nodes.each { |child| walk(child, member) }
      end

      def walk_call(node, member)
        receiver = node.receiver
        return member.calls << node.name if receiver.nil? || receiver.is_a?(Prism::SelfNode)

        changes(receiver, member) if MUTATORS.include?(node.name) || node.name.match?(/\w=\z|\A\[\]=\z|\w!\z/)
      end

      # Only what is reached from an instance variable is state: a local array may be filled.
      def changes(receiver, member)
        receiver = receiver.receiver while receiver.is_a?(Prism::CallNode) && receiver.receiver
        member.changed << receiver.name if receiver.is_a?(Prism::InstanceVariableReadNode)
      end
    end
  end
end
