"""Targets of portable programs: SQL, JavaScript, Python, ONNX."""
