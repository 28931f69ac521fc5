# frozen_string_literal: true

# An index allows one payment per order: the second delivery of a record can't charge the customer again.
class Payment < ApplicationRecord
  belongs_to :order
end
