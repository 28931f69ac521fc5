# frozen_string_literal: true

require_relative "../errors"

module Penstock
  # Raised when a consumer's transaction is begun inside another one.
  class TransactionAlreadyInitializedError < StandardError
    include Error
  end

  # Raised when the records of a transaction are no longer ours: their partition was revoked or moved by a seek, or the group has
  # just rebalanced. The transaction is aborted. This isn't a failure of a record: the partition's owner runs it again.
  class AssignmentLostError < StandardError
    include Error
  end

  # Raised when a consumer's transaction could not include its partition's offset, for a reason that isn't one of its
  # records': another transaction, or a commit, didn't end in time, or the broker accepts less metadata with an offset. It is
  # aborted; its records run again, without counting an attempt.
  class TransactionDeferredError < StandardError
    include Error
  end

  # Raised with manual offsets when a record is marked outside a transaction, of a partition whose records were marked in
  # transactions before: the mark would be committed separately from the messages that the transactions produce.
  class NonTransactionalMarkingAttemptError < StandardError
    include Error
  end
end
