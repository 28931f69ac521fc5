# frozen_string_literal: true

require "yaml"
require_relative "check"
require_relative "class_model"

module Penstock
  module Checks
    # Classes that can be read: none has more than 40 public members, a mixin that only one class includes doesn't use that
    # class's instance variables (it would be the same class in two files), and a method that ends in `?` changes nothing.
    #
    # Inherited methods, those that every object has (inspect, ==), and methods defined at run time aren't counted. The changes of
    # a predicate are followed through methods of its own class, and not into other objects. classes.yml lists the exceptions
    # with their reasons; one that isn't needed any more must be removed.
    class Classes < Check
      LIMIT = 40
      EVERYWHERE = %i[inspect to_s == eql? hash].freeze
      GROUPS = %w[members mixins predicates].freeze

      # @param sources [Hash{String => String}, nil] path and text
      # @param exceptions [Hash{String => Hash}, nil] as in classes.yml
      def initialize(sources = nil, exceptions: nil)
        super()
        @sources = sources
        @exceptions = exceptions || YAML.safe_load_file(File.join(__dir__, "classes.yml"), aliases: true)
      end

      private

      def problems
        found = GROUPS.to_h { |group| [group, send(group)] }
        found.flat_map { |group, rows| rows.except(*excepted(group).keys).values } +
          found.flat_map { |group, rows| unneeded(group, rows) }
      end

      def figures
        largest = entries.max_by { |entry| members_of(entry).size }
        "#{entries.size} classes and modules, #{GROUPS.sum { |group| excepted(group).size }} exceptions, most public members: " \
          "#{largest.name} with #{members_of(largest).size}"
      end

      def excepted(group) = @exceptions.fetch(group, nil) || {}

      def unneeded(group, rows)
        (excepted(group).keys - rows.keys).map { |name| "classes.yml, #{group}: #{name} needs no exception" }
      end

      # A class may have a limit of its own in classes.yml: it is an exception below that only.
      def members
        entries.filter_map do |entry|
          count = members_of(entry).size
          limit = excepted("members").dig(entry.name, "limit")
          next if count <= LIMIT
          name = (limit && count > limit) ? "#{entry.name} over #{limit}" : entry.name
          [name, "#{entry.file} #{entry.name} has #{count} public members, over #{limit || LIMIT}"]
        end.to_h
      end

      # A reader and its writer are one member.
      def members_of(entry)
        (@members ||= {})[entry.name] ||=
          [entry, *mixins_of(entry)].flat_map { |each|
            (each.public_methods.map(&:name) - EVERYWHERE).map { |name|
              name.to_s.chomp("=")
            }
          }.uniq
      end

      def mixins
        entries.flat_map { |entry| mixins_of(entry).map { |mixin| [mixin, entry] } }.group_by(&:first)
          .select { |_mixin, users| users.size == 1 }
          .filter_map do |mixin, ((_, user))|
            shared = mixin.variables & user.variables
            if shared.any?
              [mixin.name,
                "#{mixin.file} #{mixin.name} is only included by #{user.name} and uses its #{shared.join(", ")}"]
            end
          end.to_h
      end

      def predicates
        entries.flat_map { |entry| entry.methods.each_value.filter_map { |method| predicate(entry, method) } }.to_h
      end

      def predicate(entry, method)
        return unless method.name.end_with?("?")
        changed = changes(entry, method.name, [])
        name = "#{entry.name}##{method.name}"
        [name, "#{entry.file}:#{method.line} #{name} changes #{changed.uniq.join(", ")}"] if changed.any?
      end

      def changes(entry, name, trail)
        method = entry.methods[name]
        return [] if method.nil? || trail.include?(name)
        method.changed + method.calls.flat_map { |called| changes(entry, called, [*trail, name]) }
      end

      def entries
        @entries ||= ClassModel.of(@sources || files("lib/*.rb").to_h { |path| [path, File.read(path, encoding: "UTF-8")] })
      end

      def mixins_of(entry) = entry.mixins.filter_map { |name| find(name, entry.name) }

      # As Ruby looks a constant up: in the class itself, and then in the modules around it.
      def find(name, from)
        @by_name ||= entries.to_h { |entry| [entry.name, entry] }
        around = from.split("::")
        around.size.downto(0).filter_map { |count| @by_name[[*around.first(count), name.delete_prefix("::")].join("::")] }.first
      end
    end
  end
end
