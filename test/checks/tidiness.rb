# frozen_string_literal: true

require "yaml"
require_relative "check"

module Penstock
  module Checks
    # Finds what must not be in the repository: notes to ourselves, sleeping tests, addresses of package registries or
    # of any host that was not decided on.
    class Tidiness < Check
      NOTES = /\b(?:TO-?DO|FIX-?ME|XXX|HACK)\b|not implemented/
      SLEEP = /(?:^|[^_a-z.:'"])sleep(?:[ ('"]|$)/
      URL = %r{https?://([A-Za-z0-9.-]+\.[a-z]{2,})}
      REGISTRY = /\b[\w-]*(?:gems|registry|mirrors?|pypi|npmjs)[\w-]*\.(?:\w+\.)*(?:org|com|net|io|dev)\b/
      HOSTS = YAML.safe_load_file(File.join(__dir__, "allowed_hosts.yml"))

      private

      def problems
        notes + sleeps + addresses
      end

      def notes
        own = files("lib", "ext", "bin", "exe", "test/*.rb").grep_v(/\.patch\z/) - ["test/checks/tidiness.rb"]
        grep(own, NOTES, "note to ourselves")
      end

      def sleeps
        grep(files("test/*.rb").grep_v(%r{\Atest/(?:support|checks)/}), SLEEP, "a test that sleeps: wait for a condition")
      end

      def addresses
        # Other people's licences aren't checked.
        texts = files.reject { |path| path.match?(/\.(?:patch|png|ico|woff2|gz)\z|\ALICENSES-/) }
        grep(texts, REGISTRY, "names a package registry") + unknown_hosts(texts)
      end

      def unknown_hosts(paths)
        paths.flat_map do |path|
          (read(path).scan(URL).flatten.uniq - HOSTS).reject { |host| host.match?(/(?:\A|\.)example(?:\.|\z)/) }
            .map { |host| "#{path} names the host #{host}; allowed_hosts.yml lists the allowed ones" }
        end
      end

      def grep(paths, pattern, what)
        paths.flat_map do |path|
          read(path).lines.each.with_index(1).filter_map do |line, number|
            "#{path}:#{number} #{what}: #{line.strip[0, 80]}" if line.match?(pattern)
          end
        end
      end

      def read(path)
        text = File.read(path, encoding: "UTF-8")
        text.valid_encoding? ? text : ""
      end
    end
  end
end
