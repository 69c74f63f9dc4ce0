"""What the REST door takes and gives, field by field. Serializers translate; rules stay in services."""
