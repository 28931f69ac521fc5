# frozen_string_literal: true

# Ruby 3.2 introduced IO#timeout. From 2.24 on, the gem async calls it at every wait for an IO and at every read, so that on Ruby
# 3.1 fibers can neither read a file (`require` does) nor wait for a socket: NoMethodError. No IO of Ruby 3.1 has a timeout, and
# newer Rubies return nil for one without. Loaded on Ruby 3.1 only, and only for `run_on :fibers`.
class IO
  # @return [nil]
  def timeout = nil
end
