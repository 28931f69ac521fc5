# frozen_string_literal: true

require_relative "../on_demand"
require_relative "acl"
require_relative "failures"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Reads and changes access rights. Stateless; runs on the caller's thread.
    class Acls
      # @param session [Session]
      def initialize(session)
        @session = session
      end

      # @param acls [Array<Acl>]
      # @return [Array<Acl>] the same
      def create(acls)
        check(acls, &:problems)
        errors = settle(:create_acls, acls) { |(number, message), acl| [acl, number, acl.to_s, message] }
        Failures.raise_any(errors)
        acls
      end

      # @param filter [Acl]
      # @return [Array<Acl>]
      def describe(filter)
        check([filter]) { [] }
        @session.call(:describe_acls, filter.to_row).map { |row| Acl.of(row) }
      end

      # @param filters [Array<Acl>]
      # @return [Array<Acl>] each once, also where it matches two filters
      def delete(filters)
        check(filters) { [] }
        deleted = []
        errors = settle(:delete_acls, filters) do |(number, message, found), filter|
          failed = found.find { |one, *| !one.zero? }
          deleted.concat(found.filter_map { |one, _message, row| Acl.of(row) if one.zero? })
          failed ? [filter, failed[0], Acl.of(failed[2]).to_s, failed[1]] : [filter, number, filter.to_s, message]
        end
        Failures.raise_any(errors)
        deleted.uniq
      end

      private

      def settle(name, acls, &outcome)
        @session.settle(name, acls.uniq.to_h { |acl| [acl, acl.to_row] }, ordered: true, &outcome)
      end

      def check(acls)
        problems = acls.flat_map do |acl|
          next yield(acl) if acl.is_a?(Acl)

          [Problem.new(acl.inspect, "is no Penstock::Admin::Acl", "Use Acl.new(resource_type: :topic, …), or Acl.filter(…).")]
        end
        problems << Problem.new(nil, "no ACL is given") if acls.empty?
        raise InvalidRequestError, problems unless problems.empty?
      end
    end
  end
end
