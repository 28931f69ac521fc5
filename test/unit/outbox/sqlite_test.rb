# frozen_string_literal: true

require "test_helper"
require "support/outbox_contract"
require "support/outbox_order_contract"

# The outbox on SQLite, with a real file.
class OutboxSQLiteTest < Penstock::TestCase
  include Penstock::TestSupport::OutboxContract
  include Penstock::TestSupport::OutboxOrderContract

  extend Penstock::TestSupport::Outbox::OnSQLite
end
