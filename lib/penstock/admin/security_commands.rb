# frozen_string_literal: true

module Penstock
  class Admin
    # Commands about rights and users, of {Admin} and its class. An embedded broker has neither.
    module SecurityCommands
      # Grants or denies rights. One that exists already is no error.
      #
      # @param acls [Array<Acl>]
      # @return [Array<Acl>] the same
      # @raise [InvalidRequestError] an ACL that is a filter; all of them
      # @raise [KafkaError] `:cluster_authorization_failed` (needs ALTER of the cluster), `:security_disabled` (the cluster has no
      #   authorizer), …; its `failures` are by ACL, and the others exist
      def create_acls(*acls)
        @acls.create(acls.flatten)
      end

      # @param filter [Acl] see {Acl.filter}
      # @return [Array<Acl>] what matches
      # @raise [KafkaError] `:cluster_authorization_failed` (needs DESCRIBE of the cluster), `:security_disabled`
      def describe_acls(filter)
        @acls.describe(filter)
      end

      # Removes rights.
      #
      # @param filters [Array<Acl>]
      # @return [Array<Acl>] what was removed
      # @raise [KafkaError] as {#create_acls}
      def delete_acls(*filters)
        @acls.delete(filters.flatten)
      end

      # @param names [Array<String>] none: all users with a SCRAM password
      # @return [Hash{String=>Hash{String=>Integer}}] user, mechanism (`"SCRAM-SHA-512"`), how often the password was hashed
      # @raise [KafkaError] `:resource_not_found`: no such user; `:cluster_authorization_failed` (needs DESCRIBE of the cluster)
      def describe_users(*names)
        @users.describe(names.flatten)
      end

      # Creates a user that logs in with SCRAM, or replaces the password. It is hashed before it is sent, with a random salt.
      #
      # @param name [String]
      # @param password [String]
      # @param mechanism ["SCRAM-SHA-512", "SCRAM-SHA-256"]
      # @param iterations [Integer] 4,096 to 16,384
      # @return [void]
      # @raise [InvalidRequestError] all that is wrong, before anything is sent
      # @raise [KafkaError] `:cluster_authorization_failed` (needs ALTER of the cluster)
      def set_password(name, password, mechanism: Users::DEFAULTS[:mechanism], iterations: Users::DEFAULTS[:iterations])
        @users.set_password(name, password, mechanism: mechanism, iterations: iterations)
      end

      # Removes a password; a user without one doesn't exist. Connections that are logged in stay.
      #
      # @param name [String]
      # @param mechanism [String, nil] nil: of all mechanisms
      # @return [void]
      # @raise [KafkaError] `:resource_not_found`
      def delete_user(name, mechanism: nil)
        @users.delete(name, mechanism: mechanism)
      end
    end
  end
end
