# frozen_string_literal: true

require "test_helper"
require "support/outbox_contract"

# The outbox on SQLite, a real file.
class OutboxSQLiteTest < Penstock::TestCase
  include Penstock::TestSupport::OutboxContract

  extend Penstock::TestSupport::Outbox::OnSQLite
end
