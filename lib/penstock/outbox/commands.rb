# frozen_string_literal: true

# The outbox's commands. They are this leaf's, so `exe/penstock` adds them to those of the command line.
require_relative "commands/relay"
require_relative "commands/status"
require_relative "commands/retry"
require_relative "commands/discard"
require_relative "commands/purge"
require_relative "commands/install"
