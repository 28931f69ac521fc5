# frozen_string_literal: true

# The outbox's commands. They are part of the outbox, which the command line doesn't depend on, so `exe/penstock` adds them.
require_relative "commands/relay"
require_relative "commands/status"
require_relative "commands/retry"
require_relative "commands/discard"
require_relative "commands/purge"
require_relative "commands/install"
