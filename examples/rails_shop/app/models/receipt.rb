# frozen_string_literal: true

# An index allows one receipt per order.
class Receipt < ApplicationRecord
  belongs_to :order
end
