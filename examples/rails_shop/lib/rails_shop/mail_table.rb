# frozen_string_literal: true

require "action_mailer"

module RailsShop
  # A delivery method of Action Mailer: a mail becomes a row of the table sent_mails. Stateless.
  class MailTable
    # @param settings [Hash] none
    def initialize(settings)
    end

    # @param mail [Mail::Message]
    def deliver!(mail)
      SentMail.create!(message_id: mail.message_id, recipient: mail.to.first, subject: mail.subject, body: mail.body.to_s)
    end
  end
end

ActiveSupport.on_load(:action_mailer) { add_delivery_method :table, RailsShop::MailTable }
