# frozen_string_literal: true

require "test_helper"
require "support/outbox_contract"

# The outbox on SQLite, a real file.
class OutboxSQLiteTest < Penstock::TestCase
  include Penstock::TestSupport::OutboxContract

  leaks_checked_per_class "the pool's connections stay open between tests"

  def self.before_all
    @folder = Dir.mktmpdir("outbox")
    Penstock::TestSupport::Outbox.sqlite(@folder)
  end

  def self.after_all
    Penstock::TestSupport::Outbox.disconnect
    FileUtils.remove_entry(@folder)
  end
end
