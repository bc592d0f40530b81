"""SecretStorage, another client of the Secret Service: finds, changes, or deletes items.

The first argument is the operation, the second a JSON object of attributes. It prints the items as JSON.
"""

import json
import sys

import secretstorage

operation, attributes = sys.argv[1], json.loads(sys.argv[2])
found = list(secretstorage.search_items(secretstorage.dbus_init(), attributes))
items = [
    {
        "attributes": item.get_attributes(),
        "type": item.get_secret_content_type(),
        "secret": item.get_secret().decode(),
    }
    for item in found
]
for item in found:
    if operation == "change":
        item.set_secret(sys.stdin.buffer.read())
    elif operation == "delete":
        item.delete()
print(json.dumps(items))
