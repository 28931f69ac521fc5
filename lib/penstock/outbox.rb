# frozen_string_literal: true

require_relative "framework"

# Where it is registered for autoload, its constant loads it: in one thread, while the others wait.
Penstock.autoload?(:Outbox) ? Penstock.const_get(:Outbox) : require_relative("outbox/api")
