# frozen_string_literal: true

require_relative "check"

module Penstock
  module Checks
    # Known vulnerabilities of the gems in Gemfile.lock, by bundler-audit. Without its advisory database the answer is
    # "not checked", which is not "none".
    class SecurityAudit < Check
      private

      def problems
        return [] if unknown

        output, clean = run("bundle", "exec", "bundle-audit", "check")
        clean ? [] : [output.strip]
      end

      def unknown
        return @unknown if defined?(@unknown)

        output, updated = run("timeout", "20", "bundle", "exec", "bundle-audit", "update", "--quiet")
        @unknown = updated ? nil : "the advisory database can't be fetched here (#{output.lines.last.to_s.strip}): " \
          "run `bin/check security-audit` where that address can be reached, before a release and when gems change"
      end
    end
  end
end
