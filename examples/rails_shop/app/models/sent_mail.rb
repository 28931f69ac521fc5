# frozen_string_literal: true

# A mail that was "sent": see lib/rails_shop/mail_table.rb.
class SentMail < ApplicationRecord
end
